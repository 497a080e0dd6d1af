"""The verb `prefer`: a judge compares outcomes in pairs."""

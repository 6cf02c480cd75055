"""From a name, a config file or a checkpoint to a model of mmdet and what its labels mean."""

# Grounding DINO with Swin-T, as mmdet ships it.
_base_ = "mmdet::grounding_dino/grounding_dino_swin-t_pretrain_obj365_goldg_cap4m.py"

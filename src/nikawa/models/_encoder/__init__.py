"""Fine-tuning of pre-trained encoders: features, heads, the training step, checkpoints. Needs the extra `encoder`."""

"""The jobs of the audit. Each is `judge(recorded) -> Judgement` over transforms from DataFrame to DataFrame."""

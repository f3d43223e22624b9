"""FlowState."""

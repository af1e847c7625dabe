/** The reason why an operator's command failed, as one Italian line. */
export class OperationError extends Error {}

/** A signal, for example Ctrl-C, interrupted the command. */
export class InterruptedError extends OperationError {}

/** Why an operator's command is not carried out: one Italian line. */
export class OperationError extends Error {}

/** A signal, as of Ctrl-C, has interrupted the work. */
export class BrokenOff extends OperationError {}

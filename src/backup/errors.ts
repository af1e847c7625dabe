/** Why an operator's command is not carried out: one Italian line. */
export class OperationError extends Error {}

/** What an operator reads of a file that is no whole backup, or is not opened by the passphrase. */
export const NO_BACKUP = 'non è un salvataggio di Locanda, o ne manca l’inizio'
export const OTHER_PASSPHRASE = 'la passphrase non è quella di questo salvataggio, o il suo inizio è danneggiato'
export const DAMAGED = 'il salvataggio è danneggiato o incompleto: usarne un altro'

/** A signal, as of Ctrl-C, has interrupted the work. */
export class BrokenOff extends OperationError {}

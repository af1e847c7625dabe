/** What a SQLSTATE means to who wrote the statement (PostgreSQL manual, appendix A). */
const BY_CODE: Readonly<Record<string, string>> = {
  42501: 'La console SQL non ha il permesso di farlo',
  57014: 'L’istruzione è stata interrotta, di solito perché supera i 10 secondi: non è stato fatto nulla'
}

const BY_CLASS: Readonly<Record<string, string>> = {
  '08': 'L’istruzione non può essere eseguita in questo modo',
  '0A': 'L’istruzione chiede una cosa che qui non è possibile',
  21: 'L’istruzione trova più righe di una',
  22: 'Un valore non va bene per il suo tipo',
  23: 'L’istruzione viola un vincolo: non è stato fatto nulla',
  25: 'L’istruzione non è ammessa in una transazione',
  40: 'L’istruzione si è scontrata con un’altra: riprovare',
  42: 'L’istruzione non è corretta o nomina qualcosa che non c’è',
  53: 'Il database non ha risorse sufficienti per l’istruzione',
  54: 'L’istruzione supera un limite del database',
  55: 'L’oggetto non è nello stato che l’istruzione richiede'
}

/** The fault is the database's or the connection's. 08P01 is a statement with parameters, which nobody gives. */
const NOT_THE_STATEMENT = /^(08(?!P01)|53300|57P|58|F0|XX)/

/** The Italian text for a SQLSTATE; undefined when the statement is not the matter. */
export function textOf (sqlstate: string): string | undefined {
  if (NOT_THE_STATEMENT.test(sqlstate)) return undefined
  return BY_CODE[sqlstate] ?? BY_CLASS[sqlstate.slice(0, 2)] ?? 'Il database ha rifiutato l’istruzione'
}

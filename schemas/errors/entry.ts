/** An error explained for readers, in Italian: its statuses, its cause and the remedy. */
export interface ErrorEntry { statuses: readonly number[], cause: string, remedy: string }

/** The errors of one subject by code (`codice`). */
export interface ErrorSubject { title: string, errors: Readonly<Record<string, ErrorEntry>> }

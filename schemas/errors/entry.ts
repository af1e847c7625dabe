/** An error as whoever meets it wants it explained: with which statuses it comes, why, and what to do. In Italian. */
export interface ErrorEntry { statuses: readonly number[], cause: string, remedy: string }

/** The errors of one subject, by their machine code (`codice`). */
export interface ErrorSubject { title: string, errors: Readonly<Record<string, ErrorEntry>> }

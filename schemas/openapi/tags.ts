/** The groups of operations, in the order of the reference page. */
export const TAGS = [
  { name: 'Prenotazioni', description: 'Prenotazioni e ospiti' },
  { name: 'Strutture', description: 'Le strutture dell’installazione, ciascuna con le sue unità' },
  { name: 'Unità', description: 'Camere, appartamenti e altre unità, con i loro blocchi' },
  { name: 'Banco', description: 'Il giorno al banco: arrivi, partenze, e che cosa manca' },
  { name: 'Documenti', description: 'Immagini dei documenti degli ospiti' },
  { name: 'Lettere', description: 'Lettere di benvenuto, e i dati della struttura' },
  { name: 'PDF', description: 'Report, documenti PDF e i loro modelli' },
  { name: 'Riservatezza', description: 'Che cosa è conservato di una prenotazione, copia e cancellazione' },
  { name: 'Alloggiati Web', description: 'Schedine alla Polizia di Stato' },
  { name: 'Scansione', description: 'Che cosa dicono i documenti d’identità' },
  { name: 'Utenti', description: 'Operatori e utenti' },
  { name: 'Sessioni', description: 'Le sessioni di chi chiama' },
  { name: 'Chiavi API', description: 'Chiavi personali' },
  { name: 'Provider di identità', description: 'Il provider incorporato, con il protocollo di Supabase Auth' },
  { name: 'Storage', description: 'I file archiviati, anche con il protocollo di Supabase Storage' },
  { name: 'Eventi', description: 'Che cosa è successo, e a chi si consegna' },
  { name: 'Sistema', description: 'Stato e descrizione del servizio' }
]

import { translations } from './translations.ts'

export const letterTexts = translations({
  it: {
    title: 'Lettere di benvenuto',
    arriving: 'Arrivi di oggi e dei prossimi {n} giorni senza lettera',
    allMade: 'Tutti gli arrivi dei prossimi giorni hanno la lettera.',
    noArrivals: 'Nessun arrivo nei prossimi giorni.',
    made: 'Lettere fatte',
    make: 'Crea',
    remove: 'Elimina',
    openNew: 'Apri la lettera di {n}',
    open: 'Apri'
  },
  en: {
    title: 'Welcome letters',
    arriving: 'Arrivals of today and the next {n} days without a letter',
    allMade: 'All arrivals of the next days have their letter.',
    noArrivals: 'No arrivals in the next days.',
    made: 'Letters made',
    make: 'Make',
    remove: 'Delete',
    openNew: 'Open the letter for {n}',
    open: 'Open'
  },
  de: {
    title: 'Willkommensbriefe',
    arriving: 'Anreisen von heute und den nächsten {n} Tagen ohne Brief',
    allMade: 'Alle Anreisen der nächsten Tage haben ihren Brief.',
    noArrivals: 'Keine Anreisen in den nächsten Tagen.',
    made: 'Fertige Briefe',
    make: 'Erstellen',
    remove: 'Löschen',
    openNew: 'Brief für {n} öffnen',
    open: 'Öffnen'
  },
  fr: {
    title: 'Lettres de bienvenue',
    arriving: 'Arrivées d’aujourd’hui et des {n} prochains jours sans lettre',
    allMade: 'Toutes les arrivées des prochains jours ont leur lettre.',
    noArrivals: 'Aucune arrivée ces prochains jours.',
    made: 'Lettres faites',
    make: 'Créer',
    remove: 'Supprimer',
    openNew: 'Ouvrir la lettre pour {n}',
    open: 'Ouvrir'
  }
})

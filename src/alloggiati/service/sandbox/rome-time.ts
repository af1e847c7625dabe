const romeFields = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Rome',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'longOffset'
})

/** An instant as .NET writes a local dateTime: Rome's wall clock, seven decimals, `+01:00` or `+02:00`. */
export function romeDateTime (instant: Date): string {
  const part = Object.fromEntries(romeFields.formatToParts(instant).map(({ type, value }) => [type, value]))
  const offset = part.timeZoneName?.replace('GMT', '')
  const date = `${part.year}-${part.month}-${part.day}`
  const time = `${part.hour}:${part.minute}:${part.second}.${part.fractionalSecond}0000`
  return `${date}T${time}${offset}`
}

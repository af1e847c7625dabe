/** Numbers of these are no lengths. */
const BARE = new Set(['fontWeight', 'lineHeight', 'flexGrow', 'opacity', 'aspectRatio'])
const AXES: Record<string, readonly string[]> = {
  marginVertical: ['marginTop', 'marginBottom'],
  marginHorizontal: ['marginLeft', 'marginRight'],
  paddingVertical: ['paddingTop', 'paddingBottom'],
  paddingHorizontal: ['paddingLeft', 'paddingRight']
}
/** What draws the page knows no fonts of ours by their files. */
const GENERIC: Record<string, string> = { Lora: 'Lora, serif', 'Noto Sans': '"Noto Sans", sans-serif' }

/** A style of React-PDF as CSS declarations. Its values are checked: no text of a template or of data is among them. */
export function css (style: Readonly<Record<string, unknown>>): string {
  const declarations = Object.entries(style).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : (AXES[name] ?? [name]).map((each) => declaration(each, value)))
  // A border of React-PDF has a style without being told.
  const bordered = Object.keys(style).some((name) => /^border.*Width$/.test(name))
  const hasStyle = Object.keys(style).some((name) => /^border.*Style$/.test(name))
  return [...(bordered && !hasStyle ? ['border-width:0', 'border-style:solid'] : []), ...declarations].join(';')
}

function declaration (name: string, value: unknown): string {
  const property = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  if (name === 'fontFamily') {
    const names = [value].flat().map(String)
    return `${property}:${names.map((each) => GENERIC[each] ?? `"${each}"`).join(',')}`
  }
  return `${property}:${typeof value === 'number' && !BARE.has(name) ? `${value}pt` : String(value)}`
}

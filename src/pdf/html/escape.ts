/** Texts and attributes: nothing in them is markup, here or for a template engine. */
export function escape (text: string): string {
  return text.replace(/[&<>"'{}]/g, (each) => `&#${each.charCodeAt(0)};`)
}

/* global addEventListener, createImageBitmap, DataTransfer, document, EventSource, File, FormData, location */
/* global sessionStorage */
// The key "/" opens the search, unless the person types into a field.
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest('input, textarea, select, [contenteditable]')) return
  const search = document.getElementById('q')
  if (!search) return
  event.preventDefault()
  search.focus()
})

// A lost connection keeps the form and its values. Because of the hidden key, a repeated submit changes nothing twice.
addEventListener('htmx:error', ({ target }) => {
  if (target.matches?.('[data-live]')) return
  const offline = document.getElementById('offline')
  if (!offline) return
  offline.hidden = false
  offline.scrollIntoView({ block: 'nearest' })
})

// Keeps the typed values of a submitted form while the person signs in again, then puts them back.
const KEPT = 'locanda:form'
const SECRETS = ['modulo', 'chiave', 'versione']
addEventListener('submit', (event) => {
  const form = event.target
  if (form.method !== 'post' || form.querySelector('[type=password], [type=file]')) return
  const fields = [...new FormData(form)].filter(([name]) => !SECRETS.includes(name))
  sessionStorage.setItem(KEPT, JSON.stringify({ page: location.pathname, action: form.action, fields }))
}, true)

function putBack () {
  const { page, action, fields } = JSON.parse(sessionStorage.getItem(KEPT) ?? '{}')
  if (page === undefined || !document.getElementById('main')) return
  sessionStorage.removeItem(KEPT)
  // After a success the person is on another page, or on this one with a notice.
  // A refused form has a URL below the page to which the sign-in page leads back.
  if (!page.startsWith(location.pathname) || new URLSearchParams(location.search).has('esito')) return
  const form = [...document.forms].find((each) => each.action === action)
  if (!form || form.querySelector('[aria-invalid]')) return
  for (const [name, value] of fields) {
    const input = form.elements.namedItem(name)
    if (input && input.type !== 'hidden' && 'value' in input) input.value = value
  }
}
putBack()

// After a submit in place, a screen reader and the keyboard begin at the new content.
addEventListener('htmx:after:swap', ({ target }) => {
  follow()
  if (target.matches?.('[data-live]')) return
  skipNights()
  putBack()
  if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true })
})

// A live part is loaded again when the server reports a change, and once the stream begins. A hidden tab has no stream,
// because a browser opens few connections to a server.
const LATE_MS = 10_000
let stream
let late
function follow () {
  const url = document.hidden ? undefined : document.querySelector('[data-live]')?.dataset.live
  if (stream?.readyState < 2 && url !== undefined && stream.url === new URL(url, location).href) return
  const settle = (isStale) => {
    clearTimeout(late)
    late = undefined
    document.getElementById('vecchio')?.toggleAttribute('hidden', !isStale)
  }
  const change = () => document.querySelector('[data-live]')?.dispatchEvent(new Event('novita'))
  stream?.close()
  clearTimeout(late)
  late = undefined
  if (url === undefined) return
  stream = new EventSource(url)
  stream.onmessage = change
  stream.onopen = () => {
    settle(false)
    change()
  }
  stream.onerror = () => {
    late ??= setTimeout(() => {
      settle(true)
      // After a refusal the browser does not connect again by itself.
      follow()
    }, LATE_MS)
  }
}
follow()
document.addEventListener('visibilitychange', follow)

// In the calendar the arrow keys move between free nights and stays. Tab stops at one free night of each unit.
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }
addEventListener('keydown', (event) => {
  const step = STEPS[event.key]
  const here = event.target.closest('.unit-row a')
  if (step === undefined || !here || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  const row = here.closest('.unit-row')
  const left = (link) => link.getBoundingClientRect().left
  const linksOf = (each) => [...each?.querySelectorAll('a') ?? []]
  const isAlong = event.key === 'ArrowLeft' || event.key === 'ArrowRight'
  const along = linksOf(row).sort((one, other) => left(one) - left(other))
  const across = linksOf(step < 0 ? row.previousElementSibling : row.nextElementSibling)
    .sort((one, other) => Math.abs(left(one) - left(here)) - Math.abs(left(other) - left(here)))
  const next = isAlong ? along[along.indexOf(here) + step] : across[0]
  next?.focus()
})
function skipNights () {
  for (const cell of document.querySelectorAll('a.cell ~ a.cell')) cell.tabIndex = -1
}
skipNights()

// Shows the chosen photo of a document, and reduces a large one. Another file is sent unchanged.
const MAX_SIDE = 2000
addEventListener('change', async ({ target }) => {
  const shown = target.type === 'file' && target.form?.querySelector('.preview')
  if (!shown) return
  shown.hidden = true
  const [file] = target.files
  try {
    const photo = await createImageBitmap(file)
    const scale = MAX_SIDE / Math.max(photo.width, photo.height)
    if (scale < 1) {
      const canvas = document.createElement('canvas')
      canvas.width = photo.width * scale
      canvas.height = photo.height * scale
      canvas.getContext('2d').drawImage(photo, 0, 0, canvas.width, canvas.height)
      const small = await new Promise((resolve) => { canvas.toBlob(resolve, 'image/jpeg', 0.85) })
      const transfer = new DataTransfer()
      transfer.items.add(new File([small], 'foto.jpg', { type: 'image/jpeg' }))
      target.files = transfer.files
    }
    shown.src = URL.createObjectURL(target.files[0])
    shown.hidden = false
  } catch {
    // The browser cannot draw the file, for example a PDF.
  }
})

/* global addEventListener, document, DOMParser, fetch, FormData, location, navigator, performance,
   PublicKeyCredential, URLSearchParams */
// A form that was sent is not sent again by a second click: the code in it is good for one time, and the browser would
// show the answer to the second request. After some seconds it may be, as the network may have failed.
const WAIT_MS = 5000
for (const form of document.querySelectorAll('form:not([data-options])')) {
  let sent = -Infinity
  form.addEventListener('submit', (event) => {
    if (performance.now() - sent < WAIT_MS) event.preventDefault()
    else sent = performance.now()
  })
  // Also on a page that the browser has kept, to which a person comes back.
  addEventListener('pageshow', () => { sent = -Infinity })
}

// Asks a device (a passkey, a security key) for its answer, and sends it with the form. Browsers without this script,
// or without devices, do not see these forms.
for (const form of document.querySelectorAll('form[data-options]')) {
  if (globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) form.hidden = false

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const failure = form.querySelector('[role=alert]')
    failure.textContent = ''
    try {
      // Not the answer of an earlier press.
      form.elements.namedItem('credential').value = ''
      const body = new URLSearchParams(new FormData(form))
      const asked = await fetch(form.dataset.options, { method: 'POST', body })
      // To another page first: to sign in, or to prove the second factor once more.
      if (asked.redirected) {
        location.assign(asked.url)
        return
      }
      if (!asked.ok) {
        failure.textContent = await reasonOf(asked) ?? form.dataset.failure
        return
      }
      const { fields, create, options } = await asked.json()
      const credential = create
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
      for (const [name, value] of Object.entries(fields)) form.elements.namedItem(name).value = value
      form.elements.namedItem('credential').value = JSON.stringify(credential)
      form.submit()
    } catch {
      failure.textContent = form.dataset.failure
    }
  })
}

// What the server refuses it refuses with a page, which says why in the person's language.
async function reasonOf (answer) {
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  return page.querySelector('[role=alert]')?.textContent
}

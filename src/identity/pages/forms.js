/* global addEventListener, document, DOMParser, fetch, FormData, location, navigator, performance,
   PublicKeyCredential, URLSearchParams */
// Ignores a second click on a submitted form: its code is single-use, and the browser would show the second response.
// After some seconds a click submits again, because the network may have failed.
const WAIT_MS = 5000
for (const form of document.querySelectorAll('form:not([data-options])')) {
  let sent = -Infinity
  form.addEventListener('submit', (event) => {
    if (performance.now() - sent < WAIT_MS) event.preventDefault()
    else sent = performance.now()
  })
  // Also resets a page that the browser restores from its cache.
  addEventListener('pageshow', () => { sent = -Infinity })
}

// Asks a device (a passkey, a security key) for its response, and submits it with the form. Without this script, or
// without device support, these forms stay hidden.
for (const form of document.querySelectorAll('form[data-options]')) {
  if (globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) form.hidden = false

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const failure = form.querySelector('[role=alert]')
    failure.textContent = ''
    try {
      // Removes the response of an earlier attempt.
      form.elements.namedItem('credential').value = ''
      const body = new URLSearchParams(new FormData(form))
      const asked = await fetch(form.dataset.options, { method: 'POST', body })
      // Another page comes first: to sign in, or to prove the second factor again.
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

// The server refuses with a page that explains the reason in the person's language.
async function reasonOf (answer) {
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  return page.querySelector('[role=alert]')?.textContent
}

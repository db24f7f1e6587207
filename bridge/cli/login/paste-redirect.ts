import { createInterface } from 'node:readline'
import type { HttpClient } from '../../http/http-client.ts'
import type { Terminal } from '../terminal/output.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * The address that a browser on another computer ended at, as this process can call it: the redirect URI of the
 * authorization request with what was added to its query. Undefined for any other address, so that nothing else is called.
 */
export function redirectOf(authorizationUrl: string, pasted: string): string | undefined {
  const redirectUri = isUrl(authorizationUrl)
    ? new URL(authorizationUrl).searchParams.get('redirect_uri')
    : null
  const text = pasted.trim()
  if (redirectUri === null || !isUrl(text) || !isUrl(redirectUri)) return undefined
  const [expected, given] = [new URL(redirectUri), new URL(text)]
  const isSame = given.origin === expected.origin && given.pathname === expected.pathname
  const hasAnswer = given.searchParams.has('code') || given.searchParams.has('error')
  return isSame && hasAnswer && given.username === '' && expected.protocol === 'http:'
    ? given.href
    : undefined
}

/**
 * Lets a person paste that address while the sign-in is waited for: without it nobody on a remote computer comes back. The
 * listener of the sign-in checks what is in it. Ends with `done`.
 */
export function pasteRedirect(
  authorizationUrl: string,
  http: HttpClient,
  terminal: Pick<Terminal, 'input' | 'note'>,
  done: Promise<void>,
): void {
  terminal.note('If the browser runs on another computer, paste the address here that it ends at.')
  const lines = createInterface({ input: terminal.input })
  lines.on('line', (line) => {
    if (line.trim() === '') return
    const url = redirectOf(authorizationUrl, line)
    if (url === undefined) terminal.note('That is not the address that the browser ends at.')
    else void deliver(url, http, terminal)
  })
  const end = (): void => lines.close()
  done.then(end, end)
}

async function deliver(url: string, http: HttpClient, terminal: Pick<Terminal, 'note'>): Promise<void> {
  try {
    const response = await http.send({ method: 'GET', url, headers: {} })
    response.body.destroy()
    if (response.status >= 400) terminal.note('That address does not belong to this sign-in.')
    // A browser would be there by now.
    const { location } = response.headers
    if (response.status < 400 && typeof location === 'string') terminal.note(`It goes on here: ${location}`)
  } catch {
    terminal.note('The sign-in does not listen any more.')
  }
}

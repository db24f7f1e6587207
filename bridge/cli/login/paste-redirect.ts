import { createInterface } from 'node:readline'
import type { HttpClient } from '../../http/http-client.ts'
import type { Terminal } from '../terminal/output.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * Returns the address at which a browser on another computer ended, for a request from this process: the redirect URI of the
 * authorization request with the added query. Undefined for any other address, which must not be called.
 */
function redirectOf(authorizationUrl: string, pasted: string): string | undefined {
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
 * Lets the user paste that address during a sign-in: needed on a remote machine, where the browser cannot reach this listener. The
 * listener checks its parameters. Ends with `done`.
 */
export function pasteRedirect(
  authorizationUrl: string,
  http: HttpClient,
  terminal: Pick<Terminal, 'input' | 'note'>,
  done: Promise<void>,
): void {
  terminal.note('If the browser runs on another computer, paste here the address at which it ends.')
  const lines = createInterface({ input: terminal.input })
  lines.on('line', (line) => {
    if (line.trim() === '') return
    const url = redirectOf(authorizationUrl, line)
    if (url === undefined) terminal.note('That is not the address at which the browser ends.')
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
    // A browser would follow it.
    const { location } = response.headers
    if (response.status < 400 && typeof location === 'string') terminal.note(`Continue here: ${location}`)
  } catch {
    terminal.note('The sign-in no longer listens.')
  }
}

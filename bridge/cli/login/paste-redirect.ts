import { createInterface } from 'node:readline'
import type { HttpClient } from '../../http/http-client.ts'
import type { Terminal } from '../terminal/output.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * Returns the request for an address at which a browser on another computer ended: its query at the redirect URI of the authorization
 * request, so that nothing else is called. Undefined for an address without a response.
 */
function redirectOf(authorizationUrl: string, pasted: string): string | undefined {
  if (!isUrl(authorizationUrl) || !isUrl(pasted.trim())) return undefined
  const redirectUri = new URL(authorizationUrl).searchParams.get('redirect_uri')
  const { search, searchParams } = new URL(pasted.trim())
  const hasResponse = searchParams.has('code') || searchParams.has('error')
  return redirectUri !== null && hasResponse ? redirectUri + search : undefined
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

import { parseCookieHeader } from '@drawbridge/shared/cookie-header.ts'

const secretMembers = new Set([
  'access_token',
  'refresh_token',
  'registration_access_token',
  'client_secret',
  'code',
  'code_verifier',
  'device_code',
  'password',
  'transaction',
])

// What tests never see, because it stays inside the server, is recognised by its form.
const secretForms = [
  ['a token of this server', /\bmcp[ars]_[A-Za-z0-9_-]{20,}/],
  ['a JWT', /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]+\./],
] as const

// Shorter values are words, not secrets, and would be found everywhere.
const shortestSecret = 12

/** Everything secret that went over the wire, by value, with the name it went by. */
export interface SecretLedger {
  note(name: string, value: string): void
  /** Sends a request as it is, and notes the secrets in it and in its answer. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /**
   * The names of the noted secrets that `text` contains, plainly or as in a URL, and of anything that looks like one.
   * Never the secrets themselves.
   */
  findIn(text: string): string[]
  /** Names noted so far, for a test to prove that it looked for something. */
  names(): Set<string>
}

/** An empty ledger. */
export function createSecretLedger(): SecretLedger {
  const nameByValue = new Map<string, string>()

  function note(name: string, value: unknown): void {
    if (typeof value === 'string' && value.length >= shortestSecret) nameByValue.set(value, name)
  }

  function noteMembers(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    for (const [name, member] of Object.entries(value)) {
      if (secretMembers.has(name)) note(name, member)
      noteMembers(member)
    }
  }

  function noteBody(type: string, text: string): void {
    if (type.startsWith('application/x-www-form-urlencoded')) {
      noteMembers(Object.fromEntries(new URLSearchParams(text)))
    } else if (type.startsWith('application/json')) {
      try {
        noteMembers(JSON.parse(text))
      } catch {
        // A test sends broken JSON on purpose.
      }
    }
  }

  function noteUrl(url: string, base: string): void {
    if (URL.canParse(url, base)) noteMembers(Object.fromEntries(new URL(url, base).searchParams))
  }

  function noteCookies(name: string, pairs: string): void {
    for (const cookie of parseCookieHeader(pairs)) note(`${name} ${cookie.name}`, cookie.value)
  }

  return {
    note,
    async fetch(input, init) {
      const request = new Request(input, init)
      noteUrl(request.url, request.url)
      noteCookies('cookie', request.headers.get('cookie') ?? '')
      note('authorization', request.headers.get('authorization')?.replace(/^\S+ +/, ''))
      const sent = request.body === null ? '' : await request.clone().text()
      noteBody(request.headers.get('content-type') ?? '', sent)

      const response = await fetch(request)
      noteUrl(response.headers.get('location') ?? '', request.url)
      for (const line of response.headers.getSetCookie())
        noteCookies('set-cookie', line.split(';', 1)[0] ?? '')
      const type = response.headers.get('content-type') ?? ''
      // The answers of /mcp are not copied: they may be streams, and hold no credentials.
      if (type.startsWith('application/json') && !new URL(request.url).pathname.endsWith('/mcp')) {
        noteBody(type, await response.clone().text())
      }
      return response
    },
    findIn: (text) => [
      ...new Set(
        [...nameByValue]
          .filter(([value]) => text.includes(value) || text.includes(encodeURIComponent(value)))
          .map(([, name]) => name),
      ),
      ...secretForms.filter(([, form]) => form.test(text)).map(([name]) => name),
    ],
    names: () => new Set(nameByValue.values()),
  }
}

import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'

/** Names of secrets in JSON, forms, hidden fields and URLs, with the minimum length of a secret value. */
const secretMembers = new Map([
  ['access_token', 12],
  ['refresh_token', 12],
  ['id_token', 12],
  ['registration_access_token', 12],
  ['client_secret', 12],
  ['client_assertion', 12],
  ['code', 12],
  ['code_verifier', 12],
  ['device_code', 12],
  ['user_code', 8],
  ['password', 12],
  ['transaction', 12],
  // Sealed values that tie a form to its browser.
  ['form', 20],
  ['second_factor', 20],
  // Of a second factor.
  ['secret', 16],
])

// Recognizes by their form secrets that stay inside the server, which tests never see.
const secretForms = [
  // mcpc_ are client ids.
  ['a token of this server', /\bmcp[abd-z]_[A-Za-z0-9_-]{20,}/],
  ['a JWT', /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]+\./],
  // The log has its own redaction; it should never find anything.
  ['something that the log took out', /\[redacted\]/],
  ['a session cookie', /\bbase64-eyJ[A-Za-z0-9_-]{10,}/],
] as const

// Shorter values are words, not secrets, and would be found everywhere.
const shortestSecret = 12

/** No secret is shorter. */
const endingLength = 8

/** Every secret sent over the wire, by value, with its name. */
export interface SecretLedger {
  note(name: string, value: string): void
  /** Sends a request unchanged, and records the secrets in it and in its response. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /**
   * Returns the names of recorded secrets that `text` contains, plainly or URL-encoded, and of anything that looks like one. Never
   * returns the secrets themselves. Includes secrets of all ledgers of this process: servers share stores, and libraries send their
   * own requests.
   */
  findIn(text: string): string[]
  /** Returns the names this ledger has recorded, so that a test can prove that it searched for something. */
  names(): Set<string>
}

/** Secrets recorded by all tests of this process: each test file has its own process. */
const everywhere = new Map<string, string>()
const plainFetch = globalThis.fetch

// The libraries under test call the global function: record their requests too.
globalThis.fetch = (input, init) => noteExchange(new Request(input, init), plainFetch, noteEverywhere)

function noteEverywhere(name: string, value: unknown, shortest: number = shortestSecret): void {
  if (typeof value === 'string' && value.length >= shortest) everywhere.set(value, name)
}

/** An empty ledger. */
export function createSecretLedger(): SecretLedger {
  const names = new Set<string>()

  const note: Note = (name, value, shortest = shortestSecret) => {
    if (typeof value === 'string' && value.length >= shortest) names.add(name)
    noteEverywhere(name, value, shortest)
  }

  return {
    note,
    fetch: (input, init) => noteExchange(new Request(input, init), plainFetch, note),
    findIn,
    names: () => names,
  }
}

/** Wraps `serve` to record the secrets in its requests and responses for all ledgers: for a provider that a server calls directly. */
export function noteServed<Rest extends unknown[]>(
  serve: (request: Request, ...rest: Rest) => Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return (request, ...rest) => noteExchange(request, (sent) => serve(sent, ...rest), noteEverywhere)
}

type Note = (name: string, value: unknown, shortest?: number) => void

async function noteExchange(
  request: Request,
  send: (request: Request) => Promise<Response>,
  note: Note,
): Promise<Response> {
  noteUrl(request.url, request.url, note)
  noteCookies('cookie', request.headers.get('cookie') ?? '', note)
  note('authorization', request.headers.get('authorization')?.replace(/^\S+ +/, ''))
  const sent = request.body === null ? '' : await request.clone().text()
  noteBody(request.headers.get('content-type') ?? '', sent, note)

  const response = await send(request)
  noteUrl(response.headers.get('location') ?? '', request.url, note)
  for (const line of response.headers.getSetCookie()) {
    noteCookies('set-cookie', line.split(';', 1)[0] ?? '', note)
  }
  const type = response.headers.get('content-type') ?? ''
  // Responses of /mcp are not copied: they may be streams, and contain no credentials.
  if (/^(?:application\/json|text\/html)/.test(type) && !new URL(request.url).pathname.endsWith('/mcp')) {
    noteBody(type, await response.clone().text(), note)
  }
  return response
}

function noteMember(name: string, value: unknown, note: Note): void {
  const shortest = secretMembers.get(name)
  // Error responses have a code as well, which is a word.
  const isWord = name === 'code' && typeof value === 'string' && /^[a-z_]+$/.test(value)
  if (shortest !== undefined && !isWord) note(name, value, shortest)
}

function noteMembers(value: unknown, note: Note): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    noteMember(name, member, note)
    noteMembers(member, note)
  }
}

function noteBody(type: string, text: string, note: Note): void {
  if (type.startsWith('application/x-www-form-urlencoded')) {
    noteMembers(Object.fromEntries(new URLSearchParams(text)), note)
  } else if (type.startsWith('text/html')) {
    for (const [, name = '', value] of text.matchAll(/<input[^>]*? name="(\w+)"[^>]*? value="([^"]*)"/g)) {
      noteMember(name, value, note)
    }
  } else if (type.startsWith('application/json')) {
    try {
      noteMembers(JSON.parse(text), note)
    } catch {
      // A test sends broken JSON on purpose.
    }
  }
}

function noteUrl(url: string, base: string, note: Note): void {
  if (URL.canParse(url, base)) noteMembers(Object.fromEntries(new URL(url, base).searchParams), note)
}

function noteCookies(name: string, pairs: string, note: Note): void {
  for (const cookie of parseCookieHeader(pairs)) note(`${name} ${cookie.name}`, cookie.value)
}

function findIn(text: string): string[] {
  const found = new Set<string>()
  // Logs have megabytes, and long tests thousands of secrets: one pass over the text, not one for each of them. Many begin alike.
  const byEnding = new Map<string, [form: string, name: string][]>()
  for (const [value, name] of everywhere) {
    for (const form of new Set([value, encodeURIComponent(value)])) {
      const ending = form.slice(-endingLength)
      byEnding.set(ending, [...(byEnding.get(ending) ?? []), [form, name]])
    }
  }
  for (let end = endingLength; end <= text.length; end += 1) {
    for (const [form, name] of byEnding.get(text.slice(end - endingLength, end)) ?? [])
      if (text.endsWith(form, end)) found.add(name)
  }
  return [...found, ...secretForms.filter(([, form]) => form.test(text)).map(([name]) => name)]
}

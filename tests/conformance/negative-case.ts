import { expect } from 'vitest'
import { baseUrl, type DrawbridgeFixture } from '../support/server/drawbridge-fixture.ts'
import { createStage, type Stage } from './negative-stage.ts'
import { readTitle } from './section.ts'

/** A value, several under one name, or undefined: omitted. Texts may contain values of the stage, as in `{client}`. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

/** One request. Without a method it is a POST if it has a body, else a GET. */
export interface CaseRequest {
  path: string
  method?: string
  query?: Fields
  form?: Fields
  json?: unknown
  body?: string
  headers?: Readonly<Record<string, string>>
}

/** The expected response. */
export interface Expected {
  status: number
  /** The `error` member of the JSON response; its description is checked too. */
  error?: string
  /** The `error` parameter of a redirect to the client, which must include `iss` and the state. */
  redirectError?: string
  /** A page without links elsewhere. */
  page?: true
  json?: Record<string, unknown>
  /** The exact JSON response. */
  exactly?: unknown
  /** Headers that must match; `undefined`: must be absent. */
  headers?: Readonly<Record<string, RegExp | undefined>>
}

/** One step: time passes, or a request is made. `keep` lists members of its response for later steps. */
export type Step =
  | { advance: number }
  | { request: CaseRequest; expected: Expected; keep?: Readonly<Record<string, string>> }

/**
 * A row: the rule with its document and section, and the steps. The title starts with the section, in the form that `readTitle`
 * parses.
 */
export interface NegativeCase {
  title: string
  steps: readonly Step[]
}

/** Creates a {@link NegativeCase} of a single request. */
export function row(title: string, request: CaseRequest, expected: Expected): NegativeCase {
  return { title, steps: [{ request, expected }] }
}

/** Makes the steps of a row from its particulars. */
export type Steps<Given> = (given: Given) => readonly Step[]

/** Steps of a single request, built from the particulars of a row, with the same expected response for all. */
export const expecting =
  <Given>(expected: Expected, build: (given: Given) => CaseRequest): Steps<Given> =>
  (given) => [{ request: build(given), expected }]

/** Creates a {@link NegativeCase} for each title of a table, which has its particulars. */
export const rows = <Given>(steps: Steps<Given>, table: Readonly<Record<string, Given>>): NegativeCase[] =>
  Object.entries(table).map(([title, given]) => ({ title, steps: steps(given) }))

/** Runs one row against `drawbridge`, with its own stage. */
export async function playCase({ title, steps }: NegativeCase, drawbridge: DrawbridgeFixture): Promise<void> {
  expect(readTitle(title), `${title}: begins with a document and a section`).toBeDefined()
  const stage = createStage(drawbridge)
  // Sign-ins count against the limits of the account, which apply per quarter of an hour.
  drawbridge.runtime.advance(900)
  for (const step of steps) {
    if ('advance' in step) drawbridge.runtime.advance(step.advance)
    else await playRequest(step, stage, drawbridge)
  }
}

async function playRequest(
  { request, expected, keep = {} }: Extract<Step, { request: CaseRequest }>,
  stage: Stage,
  drawbridge: DrawbridgeFixture,
): Promise<void> {
  const response = await drawbridge.app.fetch(await buildRequest(request, stage))
  const text = await response.text()
  expect(response.status, text).toBe(expected.status)
  checkHeaders(response, expected)
  if (expected.page) checkPage(response, text)
  if (expected.redirectError !== undefined) await checkRedirect(response, expected.redirectError, stage)
  if (expected.error !== undefined) checkError(response, text, expected.error)
  if (expected.json) expect(JSON.parse(text)).toMatchObject(expected.json)
  if ('exactly' in expected) expect(JSON.parse(text)).toEqual(expected.exactly)
  if (response.status >= 300) await checkSecrets(response, text, stage)
  for (const [name, member] of Object.entries(keep)) {
    stage.keep(name, String((JSON.parse(text) as Record<string, unknown>)[member]))
  }
}

async function buildRequest(request: CaseRequest, stage: Stage): Promise<Request> {
  const url = new URL(baseUrl + (await stage.fill(request.path)))
  if (request.query) url.search = (await fillFields(request.query, stage)).toString()
  const headers = new Headers()
  let body: string | undefined
  if (request.form) {
    headers.set('content-type', 'application/x-www-form-urlencoded')
    body = (await fillFields(request.form, stage)).toString()
  } else if (request.json !== undefined) {
    headers.set('content-type', 'application/json')
    body = await stage.fill(JSON.stringify(request.json))
  } else if (request.body !== undefined) body = await stage.fill(request.body)
  for (const [name, value] of Object.entries(request.headers ?? {}))
    headers.set(name, await stage.fill(value))
  const method = request.method ?? (body === undefined ? 'GET' : 'POST')
  return new Request(url, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) })
}

async function fillFields(fields: Fields, stage: Stage): Promise<URLSearchParams> {
  const filled = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    for (const single of value === undefined ? [] : [value].flat())
      filled.append(name, await stage.fill(single))
  }
  return filled
}

function checkHeaders({ headers }: Response, expected: Expected): void {
  for (const [name, form] of Object.entries(expected.headers ?? {})) {
    if (form) expect(headers.get(name) ?? '', name).toMatch(form)
    else expect(headers.get(name), name).toBeNull()
  }
}

/** Checks RFC 6749 section 5.2, and that no cache stores it. */
function checkError({ headers }: Response, text: string, error: string): void {
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(JSON.parse(text)).toEqual({
    error,
    error_description: expect.stringMatching(/^[\x20\x21\x23-\x5B\x5D-\x7E]+$/),
  })
}

/** Checks that the page does not lead to an address from the request. */
function checkPage({ headers }: Response, html: string): void {
  expect(headers.get('content-type')).toMatch(/^text\/html/)
  expect(headers.get('location')).toBeNull()
  expect(headers.get('refresh')).toBeNull()
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(html).not.toMatch(/<script|http-equiv|evil\.example/i)
}

/** Checks RFC 6749 section 4.1.2.1 and RFC 9207 section 2: state and issuer, and never a code beside an error. */
async function checkRedirect({ headers }: Response, error: string, stage: Stage): Promise<void> {
  const location = headers.get('location') ?? ''
  expect(location.startsWith(await stage.fill('{redirect_uri}?'))).toBe(true)
  const parameters = new URL(location).searchParams
  expect(parameters.get('error')).toBe(error)
  expect(parameters.get('iss')).toBe(baseUrl)
  expect(parameters.get('state') ?? 'state-1').toBe('state-1')
  expect(parameters.has('code')).toBe(false)
  expect(headers.get('cache-control')).toBe('no-store')
}

async function checkSecrets({ headers }: Response, text: string, stage: Stage): Promise<void> {
  const answered = `${text}${JSON.stringify([...headers])}`
  for (const secret of await stage.secrets()) expect(answered.includes(secret)).toBe(false)
}

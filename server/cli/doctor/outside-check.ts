import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, ok, type Outcome, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { documentPaths } from '../../http/oauth/metadata.ts'
import { publicUrls } from '../../http/public-urls.ts'
import { streamCheckPath } from '../../http/stream-check.ts'
import { askMcp, atProxy, type BaseUrlFacts, isAtBaseUrl } from './base-url-check.ts'
import { redirectOf, type Visit, visit } from './visit.ts'

/** A well-known document, at one of the addresses where clients look for it. */
interface DocumentVisit {
  url: string
  /** A member that the document must have. Undefined at the root of a host of which only a path belongs to this server. */
  expected: readonly [member: string, value: string] | undefined
  /** Few clients look here, or only after others have failed. */
  isRare: boolean
  answer: Visit
}

/** BASE_URL as hosted clients see it, as far as this machine can tell. */
export interface OutsideFacts {
  base: BaseUrlFacts
  /** The resource metadata, and `/mcp` without a credential, for the name of another program. */
  programs: readonly { agent: string; resource: Visit; challenge: Visit }[]
  /** `/mcp` with a token that does not exist. */
  refusedToken: Visit
  documents: readonly DocumentVisit[]
  /** The server writes two events one second apart. Milliseconds between both; undefined without two events. */
  stream: { answer: Visit; gapMs: number | undefined }
}

// A hosted client, and a library that filters of bots refuse.
const agents = ['Claude-User', 'python-httpx/0.28']

const unknownToken = `mcpa_${'0'.repeat(43)}`

/** Sends all requests at once. */
export async function askOutside(base: BaseUrlFacts, runtime: Pick<Runtime, 'fetch'>): Promise<OutsideFacts> {
  const { baseUrl } = base.config
  const { resourceMetadata } = publicUrls(baseUrl)
  const [programs, refusedToken, documents, stream] = await Promise.all([
    Promise.all(
      agents.map(async (agent) => {
        const headers = { 'user-agent': agent }
        const resource = await visit(resourceMetadata, runtime, { headers })
        return { agent, resource, challenge: await askMcp(baseUrl, runtime, headers) }
      }),
    ),
    askMcp(baseUrl, runtime, { authorization: `Bearer ${unknownToken}` }),
    Promise.all(
      documentsOf(baseUrl).map(async (row) => Object.assign(row, { answer: await visit(row.url, runtime) })),
    ),
    askStream(baseUrl, runtime),
  ])
  return { base, programs, refusedToken, documents, stream }
}

function documentsOf(baseUrl: string): Omit<DocumentVisit, 'answer'>[] {
  const { basePath, issuer, resource } = publicUrls(baseUrl)
  const documents = [
    ['oauth-authorization-server', ['issuer', issuer]],
    ['openid-configuration', ['issuer', issuer]],
    ['oauth-protected-resource', ['resource', resource]],
  ] as const
  return documents.flatMap(([name, expected]) => {
    const paths = documentPaths(name, basePath)
    return [...new Set([...paths, `/.well-known/${name}`])].map((path) => ({
      url: new URL(path, baseUrl).href,
      expected: paths.includes(path) ? expected : undefined,
      isRare: !paths.slice(0, 2).includes(path),
    }))
  })
}

/** Below this both events came together. */
const heldMs = 300

/** Asks for the stream; twice if its events came together, as this machine may have been busy just then. */
async function askStream(baseUrl: string, runtime: Pick<Runtime, 'fetch'>): Promise<OutsideFacts['stream']> {
  const first = await streamVisit(baseUrl, runtime)
  return isHeld(first) ? streamVisit(baseUrl, runtime) : first
}

/** Returns whether something has held the first event back. */
function isHeld({ gapMs }: OutsideFacts['stream']): boolean {
  return gapMs !== undefined && gapMs < heldMs
}

async function streamVisit(
  baseUrl: string,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<OutsideFacts['stream']> {
  const url = new URL(streamCheckPath(publicUrls(baseUrl).basePath), baseUrl).href
  const times: number[] = []
  const answer = await visit(url, runtime, {
    headers: { accept: 'text/event-stream' },
    arrived(text) {
      const events = text.split('\n\n').length - 1
      while (times.length < events) times.push(performance.now())
    },
  })
  const [first, second] = times
  return { answer, gapMs: first === undefined || second === undefined ? undefined : second - first }
}

/** Applies a check only if this server responds at BASE_URL, and `/mcp` with 401: other checks say why if not. */
const atMcp =
  (check: (facts: OutsideFacts) => Said): ((facts: OutsideFacts) => Said) =>
  (facts) =>
    isAtBaseUrl(facts.base) && facts.base.challenge.status === 401 ? check(facts) : undefined

/** Checks what hosted clients meet between them and this server. All requests come from this machine. */
export const outsideChecks: Checks<OutsideFacts> = {
  'answers-programs': atMcp(({ programs, base }) => {
    const others = programs.flatMap(({ agent, resource, challenge }) => {
      if (essence(resource) !== essence(base.resource)) return [`${agent} ${textOf(resource)}`]
      return essence(challenge) === essence(base.challenge) ? [] : [`${agent} ${textOf(challenge)} at /mcp`]
    })
    if (others.length === 0) return ok('Claude and Python get the same answers as doctor, from this machine.')
    return fail(
      `The proxy answers other programs differently: ${others.join('; ')}.`,
      atProxy('Let every User-Agent through to /mcp, /oauth/ and /.well-known/.'),
    )
  }),
  'keeps-headers': atMcp(({ refusedToken }) => headerOutcome(refusedToken)),
  'no-buffering': atMcp(({ stream }) => {
    if (stream.gapMs === undefined)
      return warn(
        `Not checked: /mcp/stream-check ${textOf(stream.answer)}.`,
        atProxy('Let the proxy pass everything below /mcp on, and run doctor again.'),
      )
    if (!isHeld(stream)) return ok('Events arrive as they are written.')
    return fail(
      'Events are held back until the response ends: clients see no progress, and time out.',
      atProxy('Let the proxy pass responses of /mcp on as they come.'),
    )
  }),
  'exact-paths': ({ documents }) => documentOutcome(documents),
}

function headerOutcome(refusedToken: Visit): Outcome {
  if (refusedToken.status !== 401)
    return fail(
      `With an unknown token /mcp ${textOf(refusedToken)} instead of 401.`,
      atProxy('Let the proxy leave Authorization and the responses of /mcp alone.'),
    )
  const challenge = refusedToken.headers.get('www-authenticate')
  if (challenge === null)
    return fail(
      'The proxy drops WWW-Authenticate: clients do not learn where to sign in.',
      atProxy('Let it pass WWW-Authenticate on.'),
    )
  if (!challenge.includes('invalid_token'))
    return fail(
      'Authorization does not reach this server: it refuses every token, and clients sign in without end.',
      atProxy('Let the proxy pass Authorization on.'),
    )
  const exposed = refusedToken.headers.get('access-control-expose-headers')?.toLowerCase() ?? ''
  const lost = ['Mcp-Session-Id', 'MCP-Protocol-Version', 'WWW-Authenticate'].filter(
    (name) => !exposed.includes(name.toLowerCase()),
  )
  return lost.length === 0
    ? ok('Authorization arrives; WWW-Authenticate and the headers of MCP come back.')
    : warn(
        `The proxy changes Access-Control-Expose-Headers: clients in a browser cannot read ${lost.join(', ')}.`,
        atProxy('Let only this server answer CORS.'),
      )
}

function documentOutcome(documents: readonly DocumentVisit[]): Said {
  // Another server's documents are none of our business.
  if (!documents.some(isExpected)) return undefined
  const faults = documents.filter(isFaulty)
  if (faults.length === 0) return ok(`All ${documents.length} discovery addresses answer.`)
  // A client that gets 404 looks elsewhere.
  const serious = faults.filter(({ isRare, answer }) => !isRare && answer.status !== 404)
  const shown = [...new Set([...serious, ...faults])].slice(0, 4).map(documentText)
  const more = faults.length - shown.length
  const message = `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
  const fix = atProxy('Let the proxy pass these addresses on as they are.')
  return serious.length > 0 ? fail(message, fix) : warn(message, fix)
}

function isExpected({ expected, answer }: DocumentVisit): boolean {
  if (!expected || answer.status !== 200) return false
  const [member, value] = expected
  return answer.json?.[member] === value
}

/** The documents of another app are its own, but a page or a redirect in their place confuses clients. */
function isFaulty(row: DocumentVisit): boolean {
  const { answer, expected } = row
  if (expected) return !isExpected(row)
  return (answer.status === 200 && !answer.json) || redirectOf(answer) !== undefined
}

function documentText({ url, answer, expected }: DocumentVisit): string {
  const without = answer.status === 200 && expected ? `, without ${expected.join(' ')}` : ''
  return `${new URL(url).pathname} ${textOf(answer)}${without}`
}

/** Returns what must be the same for every program. */
function essence(answer: Visit): string {
  if (answer.kind === 'unreachable') return answer.reason
  const { status, headers, text } = answer
  return JSON.stringify([status, headers.get('content-type'), headers.get('www-authenticate'), text])
}

/** Describes a response without its body. */
function textOf(answer: Visit): string {
  if (answer.kind === 'unreachable') return `gets no answer: ${answer.reason}`
  const { status, headers } = answer
  const type = headers.get('content-type')?.split(';')[0] ?? 'without a type'
  return `answers ${status}, ${redirectOf(answer) ?? type}`
}

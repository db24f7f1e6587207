import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import { documentPaths } from '../../http/oauth/metadata.ts'
import { publicUrls } from '../../http/public-urls.ts'
import { streamCheckPath } from '../../http/stream-check.ts'
import { atProxy } from './base-url-check.ts'
import { redirectOf, type ProbeResult, probe } from './probe.ts'

/** A well-known document, at one of the addresses where clients look for it. */
interface DocumentProbe {
  url: string
  /** A member that the document must have. Undefined at the root of a host of which only a path belongs to this server. */
  expected: readonly [member: string, value: string] | undefined
  answer: ProbeResult
}

/** The resource metadata, and `/mcp` without a credential, for one program. */
interface ProgramProbe {
  agent: string
  resource: ProbeResult
  challenge: ProbeResult
}

/** Responses of this server at BASE_URL as hosted clients get them, as far as this machine can tell. */
export interface OutsideFacts {
  resourceMetadata: string
  own: ProgramProbe
  /** The same requests under the names of other programs. */
  others: readonly ProgramProbe[]
  /** `/mcp` with a token that does not exist. */
  refusedToken: ProbeResult
  documents: readonly DocumentProbe[]
  /** The server writes two events one second apart. `isHeld`: both came together; undefined without two events. */
  stream: { answer: ProbeResult; isHeld: boolean | undefined }
}

// A hosted client, and a library that filters of bots refuse.
const agents = ['Claude-User', 'python-httpx/0.28']

const unknownToken = `mcpa_${'0'.repeat(43)}`

/** Sends all requests at once. */
export async function probeOutside(baseUrl: string, runtime: Pick<Runtime, 'fetch'>): Promise<OutsideFacts> {
  const { resourceMetadata, resource: endpoint } = publicUrls(baseUrl)
  const postEmpty = (headers: Readonly<Record<string, string>>): Promise<ProbeResult> =>
    probe(endpoint, runtime, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: '{}',
    })
  const probeAs = async (agent: string): Promise<ProgramProbe> => {
    const headers = { 'user-agent': agent }
    const resource = await probe(resourceMetadata, runtime, { headers })
    return { agent, resource, challenge: await postEmpty(headers) }
  }
  const [own, others, refusedToken, documents, stream] = await Promise.all([
    probeAs('doctor'),
    Promise.all(agents.map(probeAs)),
    postEmpty({ authorization: `Bearer ${unknownToken}` }),
    Promise.all(
      documentsOf(baseUrl).map(async (row) => Object.assign(row, { answer: await probe(row.url, runtime) })),
    ),
    probeStream(baseUrl, runtime),
  ])
  return { resourceMetadata, own, others, refusedToken, documents, stream }
}

function documentsOf(baseUrl: string): Omit<DocumentProbe, 'answer'>[] {
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
    }))
  })
}

/** Below this both events came together. */
const heldMs = 300

/** Asks again if the events came together, as this machine may have been busy just then. */
async function probeStream(
  baseUrl: string,
  runtime: Pick<Runtime, 'fetch'>,
  isRetry = false,
): Promise<OutsideFacts['stream']> {
  const url = new URL(streamCheckPath(publicUrls(baseUrl).basePath), baseUrl).href
  const times: number[] = []
  const answer = await probe(url, runtime, {
    headers: { accept: 'text/event-stream' },
    arrived(text) {
      const events = text.split('\n\n').length - 1
      while (times.length < events) times.push(performance.now())
    },
  })
  const [first, second] = times
  if (first === undefined || second === undefined) return { answer, isHeld: undefined }
  const isHeld = second - first < heldMs
  return isHeld && !isRetry ? probeStream(baseUrl, runtime, true) : { answer, isHeld }
}

/** Applies a check only if `/mcp` says where to sign in: the check `challenge` says so if not. */
const whenChallenged =
  (check: (facts: OutsideFacts) => Outcome): ((facts: OutsideFacts) => Outcome | undefined) =>
  (facts) =>
    isChallenged(facts) ? check(facts) : undefined

/** Checks what hosted clients meet between them and this server. All requests come from this machine. */
export const outsideChecks: Checks<OutsideFacts> = {
  challenge(facts) {
    if (isChallenged(facts)) return ok('Without a credential /mcp answers 401 and says where to sign in.')
    const { challenge } = facts.own
    const without = challenge.headers?.has('www-authenticate') ? '' : ', without WWW-Authenticate'
    return fail(
      `Without a credential /mcp ${textOf(challenge)}${without}: clients do not learn where to sign in.`,
      atProxy('Let the proxy pass /mcp on as it is: 401, WWW-Authenticate and POST bodies included.'),
    )
  },
  'answers-programs': whenChallenged(({ own, others }) => {
    const faults = others.flatMap(({ agent, resource, challenge }) => {
      if (essence(resource) !== essence(own.resource)) return `${agent} ${textOf(resource)}`
      return essence(challenge) === essence(own.challenge) ? [] : `${agent} ${textOf(challenge)} at /mcp`
    })
    if (faults.length === 0) return ok('Claude and Python get the same answers as doctor, from this machine.')
    return fail(
      `The proxy answers other programs differently: ${faults.join('; ')}.`,
      atProxy('Let every User-Agent through to /mcp, /oauth/ and /.well-known/.'),
    )
  }),
  'keeps-headers': whenChallenged(({ refusedToken }) => {
    const header = (name: string): string => refusedToken.headers?.get(name)?.toLowerCase() ?? ''
    if (refusedToken.status !== 401 || !header('www-authenticate').includes('invalid_token'))
      return fail(
        `Authorization does not reach this server: with an unknown token /mcp ${textOf(refusedToken)}, not 401 with invalid_token. Clients sign in without end.`,
        atProxy('Let the proxy leave Authorization and the responses of /mcp alone.'),
      )
    const lost = ['Mcp-Session-Id', 'MCP-Protocol-Version', 'WWW-Authenticate'].filter(
      (name) => !header('access-control-expose-headers').includes(name.toLowerCase()),
    )
    if (lost.length === 0)
      return ok('Authorization arrives; WWW-Authenticate and the headers of MCP come back.')
    return warn(
      `The proxy changes Access-Control-Expose-Headers: clients in a browser cannot read ${lost.join(', ')}.`,
      atProxy('Let only this server answer CORS.'),
    )
  }),
  'no-buffering': whenChallenged(({ stream }) => {
    if (stream.isHeld === undefined)
      return warn(
        `Not checked: /mcp/stream-check ${textOf(stream.answer)}.`,
        atProxy('Let the proxy pass everything below /mcp on, and run doctor again.'),
      )
    if (!stream.isHeld) return ok('Events arrive as they are written.')
    return fail(
      'Events are held back until the response ends: clients see no progress, and time out.',
      atProxy('Let the proxy pass responses of /mcp on as they come.'),
    )
  }),
  'exact-paths': documentOutcome,
}

function isChallenged({ own: { challenge }, resourceMetadata }: OutsideFacts): boolean {
  return (
    challenge.status === 401 &&
    (challenge.headers.get('www-authenticate')?.includes(resourceMetadata) ?? false)
  )
}

/** A client that gets 404 looks elsewhere, except for the address in the challenge. */
function documentOutcome({ documents, resourceMetadata }: OutsideFacts): Outcome {
  const faults = documents.filter(isFaulty)
  if (faults.length === 0) return ok(`All ${documents.length} discovery addresses answer.`)
  const serious = faults.filter(
    ({ url, expected, answer }) => expected && (answer.status !== 404 || url === resourceMetadata),
  )
  const shown = [...new Set([...serious, ...faults])].slice(0, 4).map(documentText)
  const more = faults.length - shown.length
  const message = `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
  const fix = atProxy('Let the proxy pass these addresses on as they are.')
  return serious.length > 0 ? fail(message, fix) : warn(message, fix)
}

/** The documents of another app are its own, but a page or a redirect in their place confuses clients. */
function isFaulty({ answer, expected }: DocumentProbe): boolean {
  if (expected) return answer.status !== 200 || answer.json?.[expected[0]] !== expected[1]
  return (answer.status === 200 && !answer.json) || redirectOf(answer) !== undefined
}

function documentText({ url, answer, expected }: DocumentProbe): string {
  const without = answer.status === 200 && expected ? `, without ${expected.join(' ')}` : ''
  return `${new URL(url).pathname} ${textOf(answer)}${without}`
}

/** Returns what must be the same for every program. */
function essence(answer: ProbeResult): string {
  if (answer.kind === 'unreachable') return answer.reason
  const { status, headers, text } = answer
  return JSON.stringify([status, headers.get('content-type'), headers.get('www-authenticate'), text])
}

/** Describes a response without its body. */
function textOf(answer: ProbeResult): string {
  if (answer.kind === 'unreachable') return `gets no answer: ${answer.reason}`
  const { status, headers } = answer
  const type = headers.get('content-type')?.split(';')[0] ?? 'without a type'
  return `answers ${status}, ${redirectOf(answer) ?? type}`
}

import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type Checks, fail, ok, type Outcome, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { isAtBaseUrl } from './base-url-check.ts'
import { chainOutcome } from './certificate-chain.ts'
import { type DocumentVisit, isHeld, type OutsideFacts } from './outside.ts'
import { remedy } from './remedy.ts'
import { redirectOf, type Visit } from './visit.ts'

type Answers = NonNullable<OutsideFacts['answers']>

/** Applies a check only if this server responds at BASE_URL, and `/mcp` with 401: other checks say why if not. */
const atMcp =
  (check: (answers: Answers, facts: OutsideFacts) => Said): ((facts: OutsideFacts) => Said) =>
  (facts) =>
    facts.answers && isAtBaseUrl(facts.base) && statusOf(facts.base.challenge) === 401
      ? check(facts.answers, facts)
      : undefined

/** Checks what hosted clients meet between them and this server. All requests come from this machine. */
export const outsideChecks: Checks<OutsideFacts> = {
  'public-port'({ base }) {
    const { hostname, port } = new URL(base.config.baseUrl)
    if (isLoopbackHostname(hostname)) return undefined
    if (port === '') return ok('It is 443, the only one that hosted clients connect to.')
    const step = 'Serve it at port 443, and take the port out of DRAWBRIDGE_BASE_URL.'
    return warn(
      `BASE_URL has port ${port}: Claude and other hosted clients connect to 443 only.`,
      remedy('port', step),
    )
  },
  'tls-chain': ({ chain, base, now }) =>
    chain && chainOutcome(chain, new URL(base.config.baseUrl).hostname, new Date(now * 1000)),
  'answers-programs': atMcp(({ programs }, { base }) => {
    const [resource, challenge] = [gist(base.resource), gist(base.challenge)]
    const others = programs.flatMap((program) => {
      if (gist(program.resource) !== resource) return [`${program.agent} ${seen(program.resource)}`]
      if (gist(program.challenge) === challenge) return []
      return [`${program.agent} ${seen(program.challenge)} at /mcp`]
    })
    if (others.length === 0)
      return ok('Claude, ChatGPT, Python, Ruby and Go get the same answers as doctor, from this machine.')
    return fail(
      `What is in front of this server answers otherwise to other programs: ${others.join('; ')}.`,
      remedy('programs', 'Let every User-Agent through to /mcp, /oauth/ and /.well-known/.'),
    )
  }),
  'keeps-headers': atMcp(({ refusedToken }) => headerOutcome(refusedToken)),
  'no-buffering': atMcp(({ stream }) => {
    const { answer, gapMs } = stream
    if (gapMs === undefined) {
      const step = 'Let the proxy pass everything below /mcp on, and run doctor again.'
      return warn(`The stream for checking ${seen(answer)}: not seen.`, remedy('paths', step))
    }
    if (!isHeld(stream)) return ok('Events arrive as they are written.')
    return fail(
      'Events are held back until the answer ends: clients see no progress, and time out.',
      remedy('buffering', 'Let the proxy pass answers of /mcp on as they come.'),
    )
  }),
  'exact-paths': ({ answers }) => answers && documentOutcome(answers.documents),
}

function headerOutcome(refusedToken: Visit): Outcome {
  if (refusedToken.kind !== 'answered' || refusedToken.status !== 401)
    return fail(
      `With a token that does not exist /mcp ${seen(refusedToken)} instead of 401.`,
      remedy('authorization', 'Let the proxy leave Authorization and the answers of /mcp alone.'),
    )
  const given = refusedToken.headers.get('www-authenticate')
  if (given === null)
    return fail(
      'WWW-Authenticate does not come through: clients do not learn where to sign in.',
      remedy('challenge', 'Let the proxy pass WWW-Authenticate on.'),
    )
  if (!given.includes('invalid_token'))
    return fail(
      'Authorization does not arrive at this server: every token is refused, and clients sign in without end.',
      remedy('authorization', 'Let the proxy pass Authorization on.'),
    )
  const exposed = refusedToken.headers.get('access-control-expose-headers')
  const lost = ['Mcp-Session-Id', 'MCP-Protocol-Version', 'WWW-Authenticate'].filter(
    (name) => !exposed?.toLowerCase().includes(name.toLowerCase()),
  )
  return lost.length === 0
    ? ok('Authorization arrives; WWW-Authenticate and the headers of MCP come through.')
    : warn(
        `Access-Control-Expose-Headers does not come through with ${lost.join(', ')}: clients in a browser cannot read them.`,
        remedy('exposed', 'Let this server alone answer for CORS.'),
      )
}

interface DocumentFault {
  fault: 'redirect' | 'paths'
  text: string
  isRare: boolean
}

function documentOutcome(documents: readonly DocumentVisit[]): Said {
  // Another server's documents are no concern of ours.
  if (!documents.some(isExpected)) return undefined
  const faults = documents.flatMap((row) => documentFault(row) ?? [])
  const [worst, ...others] = faults.toSorted((a, b) => Number(a.isRare) - Number(b.isRare))
  if (!worst) return ok(`All ${documents.length} discovery addresses answer.`)
  const shown = [worst, ...others.slice(0, 3)].map(({ text }) => text).join('; ')
  const message = others.length > 3 ? `${shown}; and ${others.length - 3} more.` : `${shown}.`
  const fix = remedy(worst.fault, 'Let the proxy pass these addresses on as they are.')
  return worst.isRare ? warn(message, fix) : fail(message, fix)
}

function isExpected({ expected, answer }: DocumentVisit): boolean {
  if (expected === undefined || answer.kind !== 'answered' || answer.status !== 200) return false
  const [member, value] = expected
  return answer.json?.[member] === value
}

function documentFault(row: DocumentVisit): DocumentFault | undefined {
  const { url, answer, expected, isRare } = row
  if (isExpected(row)) return undefined
  const text = `${new URL(url).pathname} ${seen(answer)}`
  if (redirectOf(answer) !== undefined) return { fault: 'redirect', text, isRare }
  const isFound = answer.kind === 'answered' && answer.status === 200
  const without = isFound && expected ? `, without ${expected.join(' ')}` : ''
  // The documents of another app are its own, as long as they are documents.
  if (!expected && !(isFound && answer.json === undefined)) return undefined
  // A client that gets 404 looks elsewhere.
  return { fault: 'paths', text: text + without, isRare: isRare || statusOf(answer) === 404 }
}

function statusOf(answer: Visit): number | undefined {
  return answer.kind === 'answered' ? answer.status : undefined
}

/** What has to be the same for every program. */
function gist(answer: Visit): string {
  if (answer.kind === 'unreachable') return answer.reason
  const { status, headers, text } = answer
  return JSON.stringify([status, headers.get('content-type'), headers.get('www-authenticate'), text])
}

/** Says what came back, without its body. */
function seen(answer: Visit): string {
  if (answer.kind === 'unreachable') return `gets no answer: ${answer.reason}`
  const { status, headers } = answer
  const type = headers.get('content-type')?.split(';')[0] ?? 'without a type'
  return `answers ${status}, ${redirectOf(answer) ?? type}`
}

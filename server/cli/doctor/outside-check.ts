import type { PeerCertificate } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type Checks, fail, ok, type Outcome, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { isAtBaseUrl } from './base-url-check.ts'
import type { CertificateChain } from './certificate-chain.ts'
import { type DocumentVisit, isHeld, type OutsideFacts } from './outside.ts'
import { remedy } from './remedy.ts'
import type { Visit } from './visit.ts'

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
    chain && judgeChain(chain, new URL(base.config.baseUrl).hostname, new Date(now * 1000)),
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

function judgeChain(chain: CertificateChain, host: string, now: Date): Outcome {
  const { sent, found, fault } = chain
  const [own, last] = [sent[0], sent.at(-1)]
  const clock = `The clock of this machine says ${now.toISOString()}.`
  const complete = remedy('chain', 'Send the intermediate certificates too, behind its own.')
  switch (fault) {
    case undefined: {
      const missing = found.filter((one) => !isRoot(one) && !sent.some((other) => isSame(one, other)))
      if (missing.length === 0) return ok(`The chain is complete: ${found.map(subjectOf).join(', ')}.`)
      const names = missing.map(subjectOf).join(', ')
      return fail(`The server does not send ${names}. This machine knows it, clients do not.`, complete)
    }
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return fail(`The server does not send the certificate of its issuer, ${nameIn(own?.issuer)}.`, complete)
    case 'CERT_HAS_EXPIRED': {
      const old = sent.find(({ valid_to: end }) => new Date(end) < now) ?? own
      const problem = `The certificate of ${subjectOf(old)} has expired, on ${old?.valid_to}.`
      return fail(`${problem} ${clock}`, remedy('renewal', 'Renew it, or set the clock.'))
    }
    case 'CERT_NOT_YET_VALID': {
      const early = sent.find(({ valid_from: start }) => new Date(start) > now) ?? own
      const problem = `The certificate of ${subjectOf(early)} is not valid before ${early?.valid_from}.`
      return fail(`${problem} ${clock}`, 'Set the clock of this machine (timedatectl set-ntp true), or wait.')
    }
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return fail(
        `The certificate, of ${subjectOf(own)}, is not for ${host}.`,
        remedy('host', 'Serve one for it.'),
      )
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return fail('The certificate is self-signed: clients refuse it.', remedy('authority', 'Get another.'))
    default:
      return fail(
        `The chain ends at ${subjectOf(last)}, whose issuer ${nameIn(last?.issuer)} this machine does not know (${fault}).`,
        remedy(
          'authority',
          'Send what is missing of it. Of an authority of your own: programs take it with NODE_EXTRA_CA_CERTS or the like, hosted clients never.',
        ),
      )
  }
}

const isRoot = ({ subject, issuer }: PeerCertificate): boolean => isDeepStrictEqual(subject, issuer)
const isSame = (one: PeerCertificate, other: PeerCertificate): boolean =>
  one.fingerprint256 === other.fingerprint256
const subjectOf = (certificate: PeerCertificate | undefined): string => nameIn(certificate?.subject)
const nameIn = (name: PeerCertificate['subject'] | undefined): string => String(name?.CN ?? name?.O)

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

/** What is wrong with a document, and with what consequence. */
interface DocumentFault {
  fault: 'redirect' | 'paths'
  text: string
  isRare: boolean
}

function documentOutcome(documents: readonly DocumentVisit[]): Said {
  // Another server's documents are no concern of ours.
  if (!documents.some((row) => row.expected && isExpected(row))) return undefined
  const faults = documents.flatMap((row) => documentFault(row) ?? [])
  const [first] = faults
  if (!first) return ok(`Each of the ${documents.length} addresses where clients look answers for itself.`)
  const shown = faults.slice(0, 4).map(({ text }) => text)
  const more = faults.length > shown.length ? `; and ${faults.length - shown.length} more` : ''
  const message = `${shown.join('; ')}${more}.`
  const worst = faults.find(({ isRare }) => !isRare)
  const { fault } = worst ?? first
  const step =
    fault === 'redirect'
      ? 'Let nothing redirect these addresses.'
      : 'Let the proxy pass these addresses on as they are.'
  return worst ? fail(message, remedy(fault, step)) : warn(message, remedy(fault, step))
}

function isExpected({ expected, answer }: DocumentVisit): boolean {
  if (expected === undefined || answer.kind !== 'answered' || answer.status !== 200) return false
  const [member, value] = expected
  return answer.json?.[member] === value
}

function documentFault(row: DocumentVisit): DocumentFault | undefined {
  const { url, answer, expected, isRare } = row
  if (isExpected(row)) return undefined
  const { pathname } = new URL(url)
  const status = statusOf(answer)
  if (status !== undefined && status >= 300 && status < 400)
    return { fault: 'redirect', text: `${pathname} ${seen(answer)}`, isRare }
  if (expected) {
    const [member, value] = expected
    const wrong = answer.kind === 'answered' && status === 200 && answer.json !== undefined
    const text = wrong ? `${pathname} does not name ${value} as ${member}` : `${pathname} ${seen(answer)}`
    // A client that gets 404 looks elsewhere.
    return { fault: 'paths', text, isRare: isRare || status === 404 }
  }
  const misleads = answer.kind === 'answered' && status === 200 && answer.json === undefined
  return misleads ? { fault: 'paths', text: `${pathname} ${seen(answer)}, not 404`, isRare } : undefined
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
  const location = headers.get('location')
  if (location !== null && status >= 300 && status < 400)
    return `answers ${status}, to ${location.split(/[?#]/)[0]}`
  return `answers ${status} ${headers.get('content-type')?.split(';')[0] ?? 'without a type'}`
}

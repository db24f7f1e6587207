import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { documentPaths } from '../../http/oauth/metadata.ts'
import { publicUrls } from '../../http/public-urls.ts'
import { streamCheckPath } from '../../http/stream-check.ts'
import { askMcp, type BaseUrlFacts } from './base-url-check.ts'
import type { CertificateChain } from './certificate-chain.ts'
import { type Visit, visit } from './visit.ts'

/** A program that clients are written with, and what it gets: the resource metadata, and a challenge. */
export interface ProgramVisit {
  agent: string
  resource: Visit
  challenge: Visit
}

/** A well-known document, at one of the addresses where clients look for it. */
export interface DocumentVisit {
  url: string
  /** What the document has to say. Undefined at the root of a host of which only a path is this server's. */
  expected: readonly [member: string, value: string] | undefined
  /** Few clients look here, or only after others have failed. */
  isRare: boolean
  answer: Visit
}

/** What arrived of the two events that the server writes one second apart. */
export interface StreamVisit {
  answer: Visit
  /** Milliseconds between both; undefined without two events. */
  gapMs: number | undefined
}

/** BASE_URL as hosted clients see it, as far as that can be seen from this machine. */
export interface OutsideFacts {
  base: BaseUrlFacts
  now: number
  /** Undefined if nothing speaks TLS there. */
  chain: CertificateChain | undefined
  /** Undefined if BASE_URL does not answer at all. */
  answers:
    | {
        programs: readonly ProgramVisit[]
        /** `/mcp` with a token that does not exist. */
        refusedToken: Visit
        documents: readonly DocumentVisit[]
        stream: StreamVisit
      }
    | undefined
}

/** As the requests of Claude and ChatGPT, and of clients in Python, Ruby and Go, name themselves. */
const agents = ['Claude-User', 'openai-mcp/1.0.0', 'python-httpx/0.28', 'Ruby', 'Go-http-client/2.0']

const unknownToken = `mcpa_${'0'.repeat(43)}`

/** Asks everything at once. Each request takes five seconds at most, and the stream twice that. */
export async function askOutside(
  base: BaseUrlFacts,
  runtime: Pick<Runtime, 'fetch' | 'now'>,
  readChain: (url: string) => Promise<CertificateChain | undefined>,
): Promise<OutsideFacts> {
  const { baseUrl } = base.config
  const [chain, answers] = await Promise.all([
    baseUrl.startsWith('https:') ? readChain(baseUrl) : undefined,
    base.metadata.kind === 'answered' ? askServer(baseUrl, runtime) : undefined,
  ])
  return { base, now: runtime.now(), chain, answers }
}

async function askServer(
  baseUrl: string,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<NonNullable<OutsideFacts['answers']>> {
  const { resourceMetadata } = publicUrls(baseUrl)
  const programVisit = async (agent: string): Promise<ProgramVisit> => {
    const headers = { 'user-agent': agent }
    const [resource, challenge] = await Promise.all([
      visit(resourceMetadata, runtime, { headers }),
      askMcp(baseUrl, runtime, { headers }),
    ])
    return { agent, resource, challenge }
  }
  const [programs, refusedToken, documents, stream] = await Promise.all([
    Promise.all(agents.map(programVisit)),
    askMcp(baseUrl, runtime, { headers: { authorization: `Bearer ${unknownToken}` } }),
    Promise.all(
      documentsOf(baseUrl).map(async ({ url, expected, isRare }) => {
        return { url, expected, isRare, answer: await visit(url, runtime) }
      }),
    ),
    askStream(baseUrl, runtime),
  ])
  return { programs, refusedToken, documents, stream }
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
    const usual = paths.slice(0, 2)
    const all = new Set([...paths, ...usual.map((path) => `${path}/`), `/.well-known/${name}`])
    return [...all].map((path) => ({
      url: new URL(path, baseUrl).href,
      expected: paths.includes(path.replace(/\/$/, '')) ? expected : undefined,
      isRare: !usual.includes(path),
    }))
  })
}

/** Below this both events came together. */
const heldMs = 300

/** Asks for the stream; twice if its events came together, as this machine may have been busy just then. */
async function askStream(baseUrl: string, runtime: Pick<Runtime, 'fetch'>): Promise<StreamVisit> {
  const first = await streamVisit(baseUrl, runtime)
  return isHeld(first) ? streamVisit(baseUrl, runtime) : first
}

/** Returns whether something in between has held the first event back. */
export function isHeld({ gapMs }: StreamVisit): boolean {
  return gapMs !== undefined && gapMs < heldMs
}

async function streamVisit(baseUrl: string, runtime: Pick<Runtime, 'fetch'>): Promise<StreamVisit> {
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
  const gapMs = first === undefined || second === undefined ? undefined : second - first
  return { answer, gapMs }
}

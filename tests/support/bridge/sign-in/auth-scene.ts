import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { CredentialStore, LoginId } from '../../../../bridge/credentials/credential-store.ts'
import type { Credential } from '../../../../bridge/credentials/credential.ts'
import { systemRuntime } from '../../../../bridge/config/system-runtime.ts'
import type { Answer, LocalEra } from '../../../conformance/client/local-client.ts'
import { type BridgeProcess, withLinks } from '../../../e2e/bridge-process.ts'
import { openFileStore, usualLoginId } from '../credentials/usual-login.ts'
import { loginAt } from '../oauth/oauth-server.ts'
import { type BridgeOptions, type CommandProcess, startCommand } from '../process/bridge-child.ts'
import { type Stage, staged } from '../process/stage.ts'
import type { Remote, RemoteOptions } from '../../remote/remote.ts'

/** A server with its authorization server, one user's home, and the bridges between them. */
export interface AuthScene {
  readonly remote: Remote
  /** Path of the user's home folder. */
  readonly home: string
  /** Shared by the bridges of this user. */
  readonly store: CredentialStore
  readonly id: LoginId
  /** Stores a login as a sign-in leaves it; `agoSeconds` is the age of its tokens as recorded. */
  signedIn(options?: { agoSeconds?: number }): Promise<Credential>
  bridge(options?: SceneBridgeOptions): BridgeProcess
  /** Starts bridges and waits for their first response. */
  opened(count: number, options?: SceneBridgeOptions): Promise<BridgeProcess[]>
  /** Runs `drawbridge` with these arguments, followed by the URL of the server and the store. */
  command(...words: string[]): CommandProcess
  /** Counts the links shown by any bridge: one browser tab each. */
  links(): number
}

/** Options of a bridge; flags are in addition to `--debug` and, unless overridden, a key in a file. */
type SceneBridgeOptions = BridgeOptions & { era?: LocalEra }

/**
 * Runs `work` in a separate environment, with `auth` and the other settings of `options`. Afterwards checks that no
 * secret is in any file under the home, on stderr or in the debug log, that nothing there is accessible to others,
 * and that stdout had only messages.
 */
export function inAuthScene(
  options: RemoteOptions,
  work: (scene: AuthScene) => Promise<void>,
): Promise<void> {
  return staged(async (stage) => {
    const remote = await stage.remote({ auth: true, ...options })
    const bridges: BridgeProcess[] = []
    const commands: CommandProcess[] = []
    const said = (): string =>
      [
        ...bridges.map((bridge, index) => `bridge ${index}:\n${bridge.stderr()}`),
        ...commands.map(({ stdout, stderr }, index) => `command ${index}:\n${stdout()}${stderr()}`),
      ].join('\n')
    try {
      await work(createScene(stage, remote, bridges, commands))
      await Promise.all(bridges.map((bridge) => bridge.close()))
      refuseLeaks(remote, stage, said())
    } catch (error) {
      throw new Error(`${String(error)}\n${said()}\n${JSON.stringify(remote.counters)}`, { cause: error })
    }
  })()
}

function createScene(
  stage: Stage,
  remote: Remote,
  bridges: BridgeProcess[],
  commands: CommandProcess[],
): AuthScene {
  const { home } = stage
  const store = openFileStore(join(home, '.drawbridge'))
  const id = usualLoginId(remote.url)

  function bridge({ era, flags = [], ...options }: SceneBridgeOptions = {}): BridgeProcess {
    const all = ['--debug', ...(flags.includes('--store') ? [] : ['--store', 'file']), ...flags]
    const started = withLinks(stage.bridge(remote.url, { ...options, flags: all }), era)
    bridges.push(started)
    return started
  }

  return {
    remote,
    home,
    store,
    id,
    bridge,
    async signedIn({ agoSeconds = 0 } = {}) {
      const credential = storedLogin(remote, agoSeconds)
      await store.write(id, credential)
      return credential
    },
    async opened(count, options) {
      const started = Array.from({ length: count }, () => bridge(options))
      await Promise.all(started.map((each) => each.open()))
      return started
    },
    command(...words) {
      const started = startCommand([...words, remote.url, '--store', 'file', '--no-open'], { home })
      commands.push(started)
      stage.later(() => (started.kill(), started.ended))
      return started
    },
    links: () => new Set(bridges.flatMap((each) => each.links())).size,
  }
}

function storedLogin(remote: Remote, agoSeconds: number): Credential {
  const redirectUris = ['http://127.0.0.1/oauth/callback']
  const issued = remote.issueTokens({ clientId: remote.addClient({ redirectUris }).clientId })
  const issuedAt = systemRuntime.now() - agoSeconds
  const client = { clientId: issued.client_id, redirectUris }
  const tokens = {
    accessToken: issued.access_token,
    issuedAt,
    expiresAt: issuedAt + issued.expires_in,
    refreshToken: issued.refresh_token,
    scope: issued.scope,
  }
  const { url } = remote
  const changes = { serverUrl: url, resource: url, tokens, signedInAt: issuedAt, signInId: 'seeded' }
  return loginAt({ origin: remote.issuer }, client, changes)
}

/** Calls a tool; returns its text, or the error's. */
export async function call(bridge: BridgeProcess, name = 'whoami', args: JsonObject = {}): Promise<string> {
  return textOf(await bridge.request('tools/call', { name, arguments: args }))
}

/** Calls `echo` several times at once; compare with {@link echoes}. */
export function burst(bridge: BridgeProcess, times: number): Promise<string[]> {
  return Promise.all(echoes(times).map((text) => call(bridge, 'echo', { text })))
}

/** The result of {@link burst} when every call succeeds. */
export function echoes(times: number): string[] {
  return Array.from({ length: times }, (_, index) => `call ${index}`)
}

/** Returns the text of a response, successful or not. */
export function textOf(answer: Answer): string {
  if ('error' in answer) return `error ${answer.error.code}: ${answer.error.message}`
  const content = (answer.result['content'] ?? []) as { text?: string }[]
  const text = content.map((part) => part.text ?? '').join('\n')
  return answer.result['isError'] === true ? `failed: ${text}` : text
}

/** Opens a link like a browser, following all redirects. Returns the last page. */
export async function visit(link: string): Promise<{ status: number; page: string }> {
  const response = await fetch(link)
  return { status: response.status, page: await response.text() }
}

function refuseLeaks(remote: Remote, stage: Stage, said: string): void {
  const readable = [...stage.files().values(), said].join('\n')
  const leaks = [...remote.secrets].filter((secret) => readable.includes(secret))
  if (leaks.length > 0) throw new Error(`Can be read: ${leaks.map((leak) => leak.slice(0, 20)).join(', ')}`)
  const loose = looseModes(stage.home)
  if (loose.length > 0) throw new Error(`Open to others: ${loose.join(', ')}`)
}

/**
 * Returns everything below a home that other users could access, except for the home itself, which belongs to the
 * system.
 */
function looseModes(home: string): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    // A lock or a draft may be gone meanwhile.
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return []
    const mode = found.mode & 0o777
    const expected = entry.isDirectory() ? 0o700 : 0o600
    return (mode & ~expected) === 0 ? [] : [`${path} (${mode.toString(8)})`]
  })
}

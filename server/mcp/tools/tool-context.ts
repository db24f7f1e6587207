import type { LoggingLevel } from '@modelcontextprotocol/server'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { fullAccess } from '../../core/access/access-rules.ts'
import type { AssertionSigner } from '../../core/gateway/assertion.ts'
import { anonymousCaller, type Caller, type SignedInCaller, signedIn } from '../../core/tokens/caller.ts'
import type { WorkspaceUser } from '../../core/workspaces/workspace-list.ts'
import type { CallerContext, PublicToolContext } from './tool-module.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** Connects a running call to the client that made it. */
export interface ClientChannel {
  /** Aborted when the client cancels or goes away. */
  readonly signal: AbortSignal
  progress(progress: number, total?: number, message?: string): void
  log(level: LoggingLevel, data: unknown): void
}

export interface ToolContexts {
  /** For code that is not tied to one call. `caller` is read at every use: within a session it changes. */
  ofCaller(caller: () => Caller): CallerContext
  ofCall(caller: Caller, channel: ClientChannel): PublicToolContext
  /** For a user whose grant is still being made, or is not being used. */
  ofUser(of: WorkspaceUser): CallerContext
}

export interface ToolContextPorts {
  runtime: Pick<Runtime, 'fetch'>
  /** The only origin that gets the user's token; a relative URL must stay there. */
  providerOrigin: string
  /** Sent as `apikey` to that origin. */
  providerKey: string | undefined
  assertions: Pick<AssertionSigner, 'assert'>
}

const fetchTimeoutMs = 10_000

/** Creates the {@link ToolContexts}. */
export function createToolContexts(ports: ToolContextPorts): ToolContexts {
  const contexts: ToolContexts = {
    ofUser: (of) => contexts.ofCaller(() => callerOf(of)),
    ofCaller: (caller) => ({
      get user() {
        return signedIn(caller()).user
      },
      get scope() {
        return caller().scope
      },
      get clientId() {
        return caller().clientId
      },
      get workspace() {
        return caller().workspace
      },
      get credential() {
        return signedIn(caller()).credential
      },
      providerToken: () => caller().providerToken(),
      assertion: async (audience) => ports.assertions.assert(signedIn(caller()), audience),
      fetch: (input, init) => fetchAs(caller(), undefined, input, init ?? {}, ports),
    }),
    ofCall: (caller, channel) => ({
      user: caller.user,
      scope: caller.scope,
      clientId: caller.clientId,
      workspace: caller.workspace,
      credential: caller.credential,
      providerToken: () => caller.providerToken(),
      assertion: async (audience) => ports.assertions.assert(signedIn(caller), audience),
      fetch: (input, init) => fetchAs(caller, channel.signal, input, init ?? {}, ports),
      get signal() {
        return channel.signal
      },
      progress: (progress, total, message) => channel.progress(progress, total, message),
      log: (level, data) => channel.log(level, data),
    }),
  }
  return contexts
}

function callerOf({ user, ...rest }: WorkspaceUser): SignedInCaller {
  const { mayOffer: _none, ...caller } = anonymousCaller(fullAccess)
  return { ...caller, ...rest, credential: 'access_token', user: { ...user, emailVerified: false } }
}

async function fetchAs(
  caller: Caller,
  signal: AbortSignal | undefined,
  input: string | URL,
  { signal: given, ...init }: RequestInit,
  ports: ToolContextPorts,
): Promise<Response> {
  const url = new URL(input, ports.providerOrigin)
  refuseOtherHost(input, url, ports.providerOrigin)
  const headers = new Headers(init.headers)
  const isOwn = url.origin === ports.providerOrigin
  if (isOwn) {
    addCredentials(headers, caller, ports)
    nameCaller(headers, caller)
  }
  // A redirect would forward the API key, and with some clients the token, to another server.
  const redirect = isOwn && init.redirect !== 'manual' ? 'error' : init.redirect
  const request = new Request(url, { ...init, headers, ...(redirect && { redirect }) })
  return ports.runtime.fetch(request, { signal: limited(signal, given ?? undefined) })
}

function addCredentials(
  headers: Headers,
  caller: Caller,
  { providerKey }: Pick<ToolContextPorts, 'providerKey'>,
): void {
  const token = caller.user && !headers.has('authorization') ? caller.providerToken() : ''
  if (token !== '') headers.set('authorization', `Bearer ${token}`)
  if (providerKey !== undefined && !headers.has('apikey')) headers.set('apikey', providerKey)
}

/** Tells the app's own API which client calls, and with which choice: its policies may narrow by that, and by nothing else. */
function nameCaller(headers: Headers, { clientId, scope, workspace }: Caller): void {
  const facts = { client: clientId, scope: scope === '' ? undefined : scope, workspace: workspace?.id }
  for (const [name, value] of Object.entries(facts)) {
    headers.delete(`drawbridge-${name}`)
    if (value !== undefined) headers.set(`drawbridge-${name}`, value)
  }
}

/**
 * Throws for a relative URL that names a host, as `//host` and `/\host` do: a tool that appends user text to a slash
 * means a path, and must not be led to another server.
 */
function refuseOtherHost(input: string | URL, { origin }: URL, providerOrigin: string): void {
  if (typeof input !== 'string' || isUrl(input) || origin === providerOrigin) return
  throw new TypeError(
    'context.fetch: this path leads to another host. Begin it with one slash, or give a whole URL.',
  )
}

/**
 * A signal that aborts with any of `signals`, and after ten seconds. Not `AbortSignal.any`: Node 22 garbage-collects
 * a timeout that is used only there.
 */
function limited(...signals: (AbortSignal | undefined)[]): AbortSignal {
  const either = new AbortController()
  const timeout = AbortSignal.timeout(fetchTimeoutMs)
  for (const signal of [timeout, ...signals]) {
    if (signal?.aborted) either.abort(signal.reason)
    signal?.addEventListener('abort', () => either.abort(signal.reason), { once: true })
  }
  return either.signal
}

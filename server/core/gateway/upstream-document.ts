import { z } from 'zod'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { durationParser } from '@drawbridge/shared/settings/value.ts'
import { isAllowed } from '../access/glob.ts'
import {
  anyTexts,
  type DocumentReading,
  list,
  members,
  named,
  parsed,
  readDocument,
  text,
  texts,
} from '../document.ts'
import { type Environment, Filling } from './filling.ts'
import {
  type CommandUpstream,
  holdsProviderToken,
  type HttpUpstream,
  type ProcessUser,
  scopeOfTool,
  selectorFault,
  type Upstream,
  type UpstreamPolicy,
  userPropertiesIn,
  writesSelector,
} from './upstream.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

export type UpstreamReading = DocumentReading<Upstream>

const identityForms = ['assertion', 'bearer', 'headers', 'provider-token'] as const
/** Headers that could impersonate another user or change how the message is read, and hop-by-hop headers. */
const neverForwarded =
  /^(?:authorization|content-type|content-encoding|expect|cookie|forwarded|host|connection|content-length|te|trailer|transfer-encoding|upgrade|proxy-.*|x-forwarded-.*|x-real-ip|drawbridge-.*|mcp-(?:session-id|method|name|param-.*))$/

/** The upstream at `url`, with the defaults of a document. */
export function upstreamAt(url: string): UpstreamReading {
  return readUpstreamDocument({ url }, {})
}

/** The upstream that is a local command, with the defaults of a document. */
export function upstreamOf(command: string, args: readonly string[]): UpstreamReading {
  return readUpstreamDocument({ command, args }, {})
}

/**
 * Reads an upstream document: a `url`, or a `command`. `${env:NAME}` is a variable of `environment`, `${user:...}` a property of
 * the calling user. Allows user properties only in a process's environment: everyone on the machine can see its arguments.
 *
 * @example
 * { "url": "http://127.0.0.1:9000/mcp", "identity": ["bearer"], "tools": { "deny": ["debug_*"] } }
 * @example
 * { "command": "notes-server", "args": ["stdio"], "env": { "WHO": "${user:email}" } }
 */
export function readUpstreamDocument(document: unknown, environment: Environment): UpstreamReading {
  return readDocument(upstreamOfDocument(document, new Filling(environment)), document)
}

function upstreamOfDocument(document: unknown, filling: Filling): z.ZodType<Upstream> {
  const has = (name: string): boolean =>
    typeof document === 'object' && document !== null && Object.hasOwn(document, name)
  if (has('url') !== has('command')) return has('url') ? httpUpstream(filling) : commandUpstream(filling)
  const either = 'must have either url or command.'
  return z.looseObject({}, 'must be an object.').refine(() => false, either) as never
}

const seconds = parsed(durationParser({ unitMs: 1000, max: '24h', examples: '30s, 5m or 1h' }))
const countFault = 'must be a whole number of 1 to 10000.'
const count = z.int(countFault).min(1, countFault).max(10_000, countFault)

const bytes = parsed((given) => {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,5})(kb|mb)$/.exec(given) ?? []
  const size = Number(digits) * (unit === 'kb' ? 1024 : 1024 * 1024)
  if (unit === '' || size > 64 * 1024 * 1024)
    throw new TypeError('expected a size of at most 64mb, such as 512kb or 4mb')
  return size
})

const url = text.transform((given, context) => {
  const found = isUrl(given) ? new URL(given) : undefined
  const isHttp = found?.protocol === 'https:' || found?.protocol === 'http:'
  if (found && isHttp && found.username === '' && found.password === '' && found.hash === '')
    return found.href
  context.addIssue('must be an http or https URL without user, password and fragment.')
  return z.NEVER
})

const policyMembers = {
  name: text.optional(),
  tools: members({
    allow: texts.default(['*']),
    deny: anyTexts.default([]),
    public: anyTexts.default([]),
    scopes: named(text).default({}),
  }).prefault({}),
  scopes: named(text).default({}),
  workspaces: members({ url }).optional(),
}

type Named = z.output<z.ZodObject<typeof policyMembers>>
type Context = z.core.$RefinementCtx

/** Reads the policy of a document, and reports its faults. */
function policyOf(
  { name, tools, scopes, workspaces }: Named,
  context: Context,
): Pick<Upstream, 'name' | 'policy' | 'scopes' | 'workspacesUrl'> {
  const policy: UpstreamPolicy = {
    allow: tools.allow,
    deny: tools.deny,
    publicTools: new Set(tools.public),
    scopes: Object.entries(tools.scopes),
  }
  for (const [pattern, scope] of policy.scopes) {
    const fault = selectorFault(pattern)
    if (fault !== undefined) addFault(context, ['tools', 'scopes', pattern], `: ${fault}`)
    if (!Object.hasOwn(scopes, scope))
      addFault(context, ['tools', 'scopes', pattern], `: scopes does not say what ${scope} allows.`)
  }
  for (const member of ['allow', 'deny', 'public'] as const) {
    if (tools[member].includes(writesSelector))
      addFault(context, ['tools', member], `: ${writesSelector} selects tools in tools.scopes only.`)
  }
  for (const tool of tools.public) {
    const fault = publicFault(tool, policy)
    if (fault !== undefined) addFault(context, ['tools', 'public'], `: ${JSON.stringify(tool)} ${fault}`)
  }
  if (workspaces && !keepsToken(workspaces.url))
    addFault(context, ['workspaces', 'url'], `: the user's token ${tokenRule}`)
  return { name, policy, scopes, workspacesUrl: workspaces?.url }
}

const tokenRule = 'is only sent over https, or to this machine.'

function keepsToken(to: string): boolean {
  const { protocol, hostname } = new URL(to)
  return protocol === 'https:' || isLoopbackHostname(hostname)
}

function addFault(context: Context, path: PropertyKey[], message: string): void {
  context.addIssue({ code: 'custom', path, message })
}

function publicFault(name: string, policy: UpstreamPolicy): string | undefined {
  if (name.includes('*')) return 'is a pattern. Name each public tool in full.'
  if (!isAllowed(policy, name)) return 'is not allowed by tools.allow and tools.deny.'
  if (scopeOfTool(policy, { name, isReadOnly: undefined }) === undefined) return undefined
  return 'requires a scope by tools.scopes, so it requires a sign-in. Remove one of the two.'
}

function httpUpstream(filling: Filling): z.ZodType<HttpUpstream> {
  const header = parsed((given) => {
    const value = filling.fill(given)
    if (/[^\t\x20-\x7E]/.test(value)) throw new TypeError('expected printable ASCII')
    return value
  })
  return members({
    ...policyMembers,
    url,
    identity: list(z.enum(identityForms, `must be one of ${identityForms.join(', ')}.`), {
      what: `of ${identityForms.join(', ')}`,
      min: 0,
      max: 4,
    }).default(['assertion']),
    audience: text.optional(),
    headers: named(header, {
      form: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
      fault: 'is not the name of a header.',
    }).default({}),
    forward: list(
      text
        .toLowerCase()
        .refine((name) => !neverForwarded.test(name), ': this header of a client is never forwarded.'),
      { what: 'names of headers' },
    ).default([]),
    timeout: seconds.default(300),
    connect_timeout: seconds.default(5),
    max_body: bytes.default(4 * 1024 * 1024),
  }).transform((given, context): HttpUpstream => {
    const { identity } = given
    if (identity.includes('bearer') && identity.includes('provider-token')) {
      const fault = 'cannot have both bearer and provider-token: there is one Authorization header.'
      addFault(context, ['identity'], fault)
    }
    if (identity.includes('provider-token') && !keepsToken(given.url))
      addFault(context, ['identity'], `: provider-token ${tokenRule}`)
    return {
      kind: 'http',
      ...policyOf(given, context),
      url: given.url,
      identity,
      audience: given.audience ?? given.url,
      headers: Object.fromEntries(
        Object.entries(given.headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      forward: given.forward,
      timeoutSeconds: given.timeout,
      connectTimeoutSeconds: given.connect_timeout,
      maxBodyBytes: given.max_body,
    }
  })
}

const userFault =
  'must have the numbers of a user and a group other than root, such as {"uid": 1001, "gid": 1001}; uid can also be a range, such as [20000, 20063].'
const userId = z
  .int(userFault)
  .min(1, userFault)
  .max(2 ** 32 - 2, userFault)
const user = members({
  uid: z.union([userId.transform((id) => [id, id] as const), z.tuple([userId, userId])], userFault),
  gid: userId,
})
  .refine(({ uid: [first, last] }) => first <= last, userFault)
  .transform(({ uid: [firstUid, lastUid], gid }): ProcessUser => ({ firstUid, lastUid, gid }))

function commandUpstream(filling: Filling): z.ZodType<CommandUpstream> {
  const argument = text
    .refine(
      (given) => !given.includes('${user:'),
      ': everyone on the machine can see arguments. Use env for ${user:...}.',
    )
    .pipe(parsed((given) => filling.fill(given)))
  return members({
    ...policyMembers,
    command: text,
    args: list(argument, { what: 'texts', min: 0 }).default([]),
    cwd: text.optional(),
    env: named(
      parsed((given) => filling.template(given)),
      {
        form: /^[A-Za-z_][A-Za-z0-9_]*$/,
        fault: 'is not the name of a variable.',
      },
    ).default({}),
    process: z.enum(['user', 'shared'], 'must be user or shared.').default('user'),
    idle: seconds.default(300),
    start_timeout: seconds.optional(),
    max_processes: count.default(64),
    max_per_user: count.default(8),
    user: user.optional(),
  }).transform((given, context): CommandUpstream => {
    const { env, user: runAs, max_processes: maxProcesses } = given
    if (given.process === 'user' && given.tools.public.length > 0) {
      const fault = ': each process belongs to a user. Tools can be public only with "process": "shared".'
      addFault(context, ['tools', 'public'], fault)
    }
    if (given.process === 'shared' && userPropertiesIn({ env }).length > 0) {
      const fault =
        ': a shared process serves everybody, so ${user:...} can be nobody. Use "process": "user".'
      addFault(context, ['env'], fault)
    }
    if (holdsProviderToken({ env }) && (!runAs || runAs.lastUid - runAs.firstUid + 1 < maxProcesses)) {
      addFault(
        context,
        ['env'],
        `: \${user:provider_token} is only for processes that cannot read each other's environment. Give user as many uids as max_processes (${maxProcesses}), such as "user": {"uid": [20000, ${19_999 + maxProcesses}], "gid": 20000}.`,
      )
    }
    return {
      kind: 'command',
      ...policyOf(given, context),
      command: given.command,
      args: given.args,
      cwd: given.cwd,
      env,
      process: given.process,
      idleSeconds: given.idle,
      startTimeoutSeconds: given.start_timeout ?? 20,
      // The first start may have to fetch the program.
      firstStartTimeoutSeconds: given.start_timeout ?? 120,
      maxProcesses,
      maxPerUser: given.max_per_user,
      user: runAs,
      secrets: [...filling.secrets],
    }
  })
}

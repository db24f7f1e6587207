import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { DocumentReader } from '../document-reader.ts'
import { offersUpstreamTool, scopeOfTool } from './upstream-policy.ts'
import type {
  CommandUpstream,
  HttpUpstream,
  IdentityForm,
  Template,
  Upstream,
  UpstreamPolicy,
} from './upstream.ts'

/** What an upstream document says, or everything that is wrong with it. */
export type UpstreamReading =
  | { kind: 'upstream'; upstream: Upstream }
  | { kind: 'faulty'; faults: readonly string[] }

/** Variables of the server's environment, for `${env:NAME}`. */
type Environment = Readonly<Record<string, string | undefined>>

const httpMembers = [
  'url',
  'identity',
  'audience',
  'headers',
  'forward',
  'timeout',
  'connect_timeout',
  'max_body',
]
const commandMembers = [
  'command',
  'args',
  'cwd',
  'env',
  'process',
  'idle',
  'start_timeout',
  'max_processes',
  'max_per_user',
  'on_token_refresh',
]
const policyMembers = ['tools', 'scopes']

const identityForms: readonly IdentityForm[] = ['assertion', 'bearer', 'headers', 'provider-token']
/** What a client could speak as somebody else with, or what belongs to one hop. */
const neverForwarded =
  /^(?:authorization|cookie|forwarded|host|connection|content-length|te|trailer|transfer-encoding|upgrade|proxy-.*|x-forwarded-.*|x-real-ip|drawbridge-.*|mcp-session-id)$/

const everything: UpstreamPolicy = { allow: ['*'], deny: [], publicTools: new Set(), scopes: [] }

/** The upstream that is a URL alone. */
export function upstreamAt(url: string): UpstreamReading {
  return readUpstreamDocument({ url }, {})
}

/** The upstream that is a command line alone. */
export function upstreamOf(command: string, args: readonly string[]): UpstreamReading {
  return readUpstreamDocument({ command, args }, {})
}

/**
 * Reads an upstream document: a `url`, or a `command`. `${env:NAME}` is a variable of `environment`, `${user:...}` something of the person who
 * calls. What a person has is in the environment of a process only: everybody on the machine can see its arguments.
 */
export function readUpstreamDocument(document: unknown, environment: Environment): UpstreamReading {
  const reader = new UpstreamReader(environment)
  const upstream = reader.read(document)
  return upstream && reader.faults.length === 0
    ? { kind: 'upstream', upstream }
    : { kind: 'faulty', faults: reader.faults }
}

class UpstreamReader extends DocumentReader {
  readonly #environment: Environment

  constructor(environment: Environment) {
    super()
    this.#environment = environment
  }

  read(value: unknown): Upstream | undefined {
    const document = this.object('the document', value)
    if (document === undefined) return undefined
    const isHttp = Object.hasOwn(document, 'url')
    if (isHttp === Object.hasOwn(document, 'command')) {
      this.fault('The document must have either url or command.')
      return undefined
    }
    const own = isHttp ? httpMembers : commandMembers
    this.object('the document', document, [...own, ...policyMembers])
    const policy = this.#policy(document)
    return isHttp ? this.#http(document, policy) : this.#command(document, policy)
  }

  #http(document: JsonObject, policy: Pick<Upstream, 'policy' | 'scopes'>): HttpUpstream {
    const url = this.#url(document['url'])
    const identity = this.optional(document, 'identity', (given) => this.#identity(given, url)) ?? [
      'assertion',
    ]
    return {
      kind: 'http',
      ...policy,
      url,
      identity,
      audience: this.optional(document, 'audience', (given) => this.text('audience', given)) ?? url,
      headers: this.optional(document, 'headers', (given) => this.#headers(given)) ?? {},
      forward: this.optional(document, 'forward', (given) => this.#forward(given)) ?? [],
      timeoutSeconds: this.#seconds(document, 'timeout', 300),
      connectTimeoutSeconds: this.#seconds(document, 'connect_timeout', 5),
      maxBodyBytes:
        this.optional(document, 'max_body', (given) => this.#bytes('max_body', given)) ?? 4 * 1024 * 1024,
    }
  }

  #command(document: JsonObject, policy: Pick<Upstream, 'policy' | 'scopes'>): CommandUpstream {
    const args = this.optional(document, 'args', (given) => this.texts('args', given, { min: 0 })) ?? []
    for (const [index, arg] of args.entries()) {
      if (/\$\{user:/.test(arg)) {
        this.fault(`args[${index}]: everybody on the machine can see arguments. Use env for \${user:...}.`)
      }
    }
    const processes = this.#choice(document, 'process', ['user', 'shared'])
    if (processes === 'user' && policy.policy.publicTools.size > 0)
      this.fault(
        'tools.public: processes belong to people. Only with "process": "shared" can tools be public.',
      )
    return {
      kind: 'command',
      ...policy,
      command: this.text('command', document['command']),
      args: args.map((arg) => this.#filled('args', arg)),
      cwd: this.optional(document, 'cwd', (given) => this.text('cwd', given)),
      env: this.optional(document, 'env', (given) => this.#env(given)) ?? {},
      process: processes,
      idleSeconds: this.#seconds(document, 'idle', 300),
      startTimeoutSeconds: this.#seconds(document, 'start_timeout', 20),
      maxProcesses: this.#count(document, 'max_processes', 64),
      maxPerUser: this.#count(document, 'max_per_user', 2),
      onTokenRefresh: this.#choice(document, 'on_token_refresh', ['restart', 'keep']),
    }
  }

  #url(value: unknown): string {
    const text = this.text('url', value)
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:'
    if (!url || !isHttp || url.username !== '' || url.password !== '' || url.hash !== '') {
      this.fault('url must be an http or https URL without user, password and fragment.')
      return 'http://invalid.invalid'
    }
    return url.href
  }

  #identity(value: unknown, url: string): IdentityForm[] {
    const isForm = (given: unknown): given is IdentityForm => identityForms.includes(given as IdentityForm)
    const forms = this.list('identity', value, isForm, {
      what: `of ${identityForms.join(', ')}`,
      min: 0,
      max: 4,
    })
    if (forms.includes('bearer') && forms.includes('provider-token')) {
      this.fault('identity cannot have both bearer and provider-token: there is one Authorization header.')
    }
    const { protocol, hostname } = new URL(url)
    if (forms.includes('provider-token') && protocol !== 'https:' && !isLoopbackHostname(hostname)) {
      this.fault('identity: provider-token only goes to https, or to this machine.')
    }
    return forms
  }

  #headers(value: unknown): Record<string, string> {
    const headers = this.object('headers', value) ?? {}
    return Object.fromEntries(
      Object.entries(headers).map(([name, given]) => {
        const at = `headers[${JSON.stringify(name)}]`
        if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) this.fault(`${at} is not the name of a header.`)
        const text = this.#filled(at, this.text(at, given))
        if (/[^\t\x20-\x7E]/.test(text)) this.fault(`${at} must be printable ASCII.`)
        return [name.toLowerCase(), text]
      }),
    )
  }

  #forward(value: unknown): string[] {
    const names = this.texts('forward', value).map((name) => name.toLowerCase())
    for (const [index, name] of names.entries()) {
      if (neverForwarded.test(name)) this.fault(`forward[${index}]: ${name} of a client never goes on.`)
    }
    return names
  }

  #env(value: unknown): Record<string, Template> {
    const variables = this.object('env', value) ?? {}
    return Object.fromEntries(
      Object.entries(variables).map(([name, given]) => {
        const at = `env[${JSON.stringify(name)}]`
        if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) this.fault(`${at} is not the name of a variable.`)
        return [name, this.#template(at, this.text(at, given))]
      }),
    )
  }

  #template(at: string, text: string): Template {
    return text.split(/(\$\{user:[^}]*\})/).flatMap((part): Template => {
      const name = /^\$\{user:([^}]*)\}$/.exec(part)?.[1]
      if (name === undefined) return part === '' ? [] : [this.#filled(at, part)]
      if (name === 'id' || name === 'email' || name === 'name' || name === 'provider_token')
        return [{ user: name }]
      this.fault(`${at}: there is no \${user:${name}}. There are id, email, name and provider_token.`)
      return []
    })
  }

  /** With the variables of the environment in their places. */
  #filled(at: string, text: string): string {
    return text.replaceAll(/\$\{([^}]*)\}/g, (place, name: string) => {
      const variable = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(name)?.[1]
      if (variable === undefined) {
        if (!name.startsWith('user:') || !at.startsWith('args')) {
          this.fault(`${at}: ${place} is not known. Write \${env:NAME} for a variable of the environment.`)
        }
        return ''
      }
      const value = this.#environment[variable]
      if (value === undefined) this.fault(`${at}: the variable ${variable} is not set.`)
      return value ?? ''
    })
  }

  #policy(document: JsonObject): Pick<Upstream, 'policy' | 'scopes'> {
    const scopes = this.optional(document, 'scopes', (given) => this.#labels('scopes', given)) ?? {}
    const policy = this.optional(document, 'tools', (given) => this.#tools(given)) ?? everything
    for (const [pattern, scope] of policy.scopes) {
      if (!Object.hasOwn(scopes, scope)) {
        this.fault(`tools.scopes[${JSON.stringify(pattern)}]: scopes does not say what ${scope} allows.`)
      }
    }
    for (const name of policy.publicTools) this.#checkPublic(name, policy)
    return { policy, scopes }
  }

  #checkPublic(name: string, policy: UpstreamPolicy): void {
    const at = `tools.public: ${JSON.stringify(name)}`
    if (name.includes('*')) this.fault(`${at} is a pattern. Name each public tool in full.`)
    else if (!offersUpstreamTool(policy, name))
      this.fault(`${at} is not allowed by tools.allow and tools.deny.`)
    else if (scopeOfTool(policy, name) !== undefined)
      this.fault(`${at} takes a scope by tools.scopes, so it takes a sign-in. Leave one of the two out.`)
  }

  #tools(value: unknown): UpstreamPolicy {
    const tools = this.object('tools', value, ['allow', 'deny', 'public', 'scopes'])
    if (!tools) return everything
    return {
      allow: this.optional(tools, 'allow', (given) => this.texts('tools.allow', given)) ?? ['*'],
      deny: this.optional(tools, 'deny', (given) => this.texts('tools.deny', given, { min: 0 })) ?? [],
      publicTools: new Set(
        this.optional(tools, 'public', (given) => this.texts('tools.public', given, { min: 0 })),
      ),
      scopes: Object.entries(
        this.optional(tools, 'scopes', (given) => this.#labels('tools.scopes', given)) ?? {},
      ),
    }
  }

  #labels(at: string, value: unknown): Record<string, string> {
    const labels = this.object(at, value) ?? {}
    return Object.fromEntries(
      Object.entries(labels).map(([name, given]) => [
        name,
        this.text(`${at}[${JSON.stringify(name)}]`, given),
      ]),
    )
  }

  #seconds(document: JsonObject, name: string, fallback: number): number {
    return this.optional(document, name, (given) => this.#duration(name, given)) ?? fallback
  }

  #duration(at: string, value: unknown): number {
    const [, count = '', unit = ''] =
      /^([1-9]\d{0,5})([smh])$/.exec(typeof value === 'string' ? value : '') ?? []
    const seconds = { s: 1, m: 60, h: 3600 }[unit]
    if (seconds !== undefined && Number(count) * seconds <= 86_400) return Number(count) * seconds
    this.fault(`${at} must be a time of at most a day, such as 30s, 5m or 1h.`)
    return 1
  }

  #bytes(at: string, value: unknown): number {
    const [, count = '', unit = ''] =
      /^([1-9]\d{0,5})(kb|mb)$/.exec(typeof value === 'string' ? value : '') ?? []
    const bytes = { kb: 1024, mb: 1024 * 1024 }[unit]
    if (bytes !== undefined && Number(count) * bytes <= 64 * 1024 * 1024) return Number(count) * bytes
    this.fault(`${at} must be a size of at most 64mb, such as 512kb or 4mb.`)
    return 1
  }

  #count(document: JsonObject, name: string, fallback: number): number {
    const count = Object.hasOwn(document, name) ? document[name] : fallback
    if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= 10_000) return count
    this.fault(`${name} must be a whole number of 1 to 10000.`)
    return fallback
  }

  #choice<Choice extends string>(
    document: JsonObject,
    name: string,
    choices: readonly [Choice, ...Choice[]],
  ): Choice {
    const given = Object.hasOwn(document, name) ? document[name] : choices[0]
    if (choices.includes(given as Choice)) return given as Choice
    this.fault(`${name} must be ${choices.join(' or ')}.`)
    return choices[0]
  }
}

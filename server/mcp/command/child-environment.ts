import type { CommandUpstream, Template } from '../../core/gateway/upstream.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import { userPath } from './user-path.ts'

/** The variables of this server's own environment that every process gets. */
const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR'] as const

/** The environment of a process, and the provider's token that it holds, if any. */
export interface ChildEnvironment {
  values: Record<string, string>
  providerToken: string | undefined
}

/** Whether processes get the provider's token, which belongs to a grant and changes. */
export function holdsProviderToken({ env }: Pick<CommandUpstream, 'env'>): boolean {
  return Object.values(env).some((template) =>
    template.some((part) => typeof part !== 'string' && part.user === 'provider_token'),
  )
}

/**
 * All of a process's environment: {@link inherited} and what is declared, nothing else of `environment`. What is unknown of a
 * person is empty. Throws what `caller.providerToken` throws when the token is declared and there is none.
 */
export function childEnvironment(
  upstream: Pick<CommandUpstream, 'env'>,
  environment: Readonly<Record<string, string | undefined>>,
  caller: Caller | undefined,
): ChildEnvironment {
  const providerToken = holdsProviderToken(upstream) ? caller?.providerToken() : undefined
  const user = caller?.user
  const places: Places = {
    id: user?.sub,
    email: user?.email,
    name: user?.name,
    provider_token: providerToken,
  }
  const values: Record<string, string> = {}
  for (const name of inherited) {
    const value = environment[name]
    if (value !== undefined) values[name] = name === 'PATH' ? userPath(value) : value
  }
  for (const [name, template] of Object.entries(upstream.env)) values[name] = fill(template, places)
  return { values, providerToken }
}

type Places = Record<'id' | 'email' | 'name' | 'provider_token', string | undefined>

function fill(template: Template, places: Places): string {
  const text = template.map((part) => (typeof part === 'string' ? part : (places[part.user] ?? ''))).join('')
  // No variable can hold one, and people choose their own names.
  return text.replaceAll('\0', '')
}

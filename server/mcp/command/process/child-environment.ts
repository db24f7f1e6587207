import { delimiter } from 'node:path'
import type { CommandUpstream, Template, UserProperty } from '../../../core/gateway/upstream.ts'
import type { Caller } from '../../../core/tokens/caller.ts'

/** What programs look up there, npx too, besides what Windows needs itself, which Node passes on in any case. */
const ofWindows = ['APPDATA', 'LOCALAPPDATA', 'COMSPEC', 'PATHEXT', 'PROGRAMFILES'] as const

/** The variables of this server's own environment that every process gets. */
const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR', ...ofWindows] as const

/** Variables with the same meaning for another user of the operating system. */
const ofEveryUser = ['PATH', 'LANG'] as const

/** The environment of a process, and the provider's token that it holds, if any. */
export interface ChildEnvironment {
  values: Record<string, string>
  providerToken: string | undefined
}

/**
 * Returns the whole environment of a process: {@link inherited} and the declared variables, nothing else of `environment`. Unknown
 * facts about a person are empty.
 */
export function childEnvironment(
  upstream: Pick<CommandUpstream, 'env' | 'user'>,
  environment: Readonly<Record<string, string | undefined>>,
  caller?: Pick<Caller, 'user' | 'workspace'>,
  providerToken?: string,
): ChildEnvironment {
  const { user, workspace } = caller ?? {}
  const places: Places = {
    id: user?.sub,
    email: user?.email,
    name: user?.name,
    provider_token: providerToken,
    workspace: workspace?.id,
  }
  const values: Record<string, string> = {}
  for (const name of upstream.user ? ofEveryUser : inherited) {
    const value = environment[name]
    if (value !== undefined) values[name] = name === 'PATH' ? userPath(value) : value
  }
  for (const [name, template] of Object.entries(upstream.env)) values[name] = fill(template, places)
  return { values, providerToken }
}

type Places = Record<UserProperty, string | undefined>

function fill(template: Template, places: Places): string {
  const text = template.map((part) => (typeof part === 'string' ? part : (places[part.user] ?? ''))).join('')
  // No variable can hold one, and people choose their own names.
  return text.replaceAll('\0', '')
}

/**
 * Removes the folders that npm puts in front of PATH for its scripts: the command runs with the operator's programs, not with those
 * of this package.
 */
function userPath(path: string): string {
  const folders = path.split(delimiter)
  const first = folders.findIndex((folder) => !/[/\\](?:node_modules[/\\]\.bin|node-gyp-bin)$/.test(folder))
  return first === -1 ? path : folders.slice(first).join(delimiter)
}

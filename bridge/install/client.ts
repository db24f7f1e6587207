import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'

/** The computer as an installer sees it. Paths are those of `platform`, so that each one can be tested on any other. */
export interface InstallSystem {
  platform: NodeJS.Platform
  home: string
  environment: Readonly<Record<string, string | undefined>>
  /** Where files of the scope `project` are. */
  projectFolder: string
  /** Names of what is in a folder; none if it cannot be read. */
  list(folder: string): readonly string[]
  exists(path: string): boolean
}

/** A flag of the bridge, with its dashes. A switch has no value. */
export interface LaunchFlag {
  flag: string
  value?: string
}

/** Whose file an entry goes to: that of the user, or that of a project, which others may get through git. */
export type Scope = 'user' | 'project'

/** An MCP client and where its list of servers is. */
export interface Client {
  /** As in `drawbridge install <client>`. */
  id: string
  title: string
  /** `json` files are edited as `jsonc` too; it says that the client itself takes no comments. */
  format: 'json' | 'jsonc' | 'toml'
  /** Where the file of the user may be, likeliest first: the first that exists is taken, else the first. */
  files(system: InstallSystem): readonly string[]
  /** The file of a project, relative to its folder. Undefined: the client has none. */
  projectFile?: string
  /** Keys on the way to the list of servers. */
  keys: readonly string[]
  /** The entry as the client wants it. */
  entry(launch: Launch): Record<string, unknown>
  /** Whether the client makes its file readable to its user alone. */
  isPrivate: boolean
  /** What a person does next to see the server, one sentence a line. */
  afterwards(name: string): readonly string[]
}

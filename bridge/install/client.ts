import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'

/** The computer as an installer sees it. Paths have the form of `platform`, so each platform can be tested on any other. */
export interface InstallSystem {
  platform: NodeJS.Platform
  home: string
  environment: Readonly<Record<string, string | undefined>>
  /** The folder of files with scope `project`. */
  projectFolder: string
  /** Returns the names in a folder; none if it cannot be read. */
  list(folder: string): readonly string[]
  exists(path: string): boolean
  /** Runs a program without a shell and returns what it printed on stdout; undefined if it failed. */
  run(program: string, args: readonly string[]): string | undefined
}

/** An {@link InstallSystem} with the folders in which clients keep their files. */
export interface Places extends InstallSystem {
  /** Joins a path by the rules of the platform. */
  at(...parts: string[]): string
  /** `$XDG_CONFIG_HOME`, or else `~/.config`. */
  config: string
  /** The settings folder of desktop programs, as Electron determines it. */
  data: string
}

/** A flag of the bridge, with its dashes. A switch has no value. */
export interface LaunchFlag {
  flag: string
  value?: string
}

/** The owner of the file: the user, or a project, whose file others may get through git. */
export type Scope = 'user' | 'project'

/** A client's own program, whose commands change the user's configuration. Arguments are passed as they are, without a shell. */
export interface ClientProgram {
  /** Looked up on `PATH`. */
  name: string
  /** Adds a server that the client starts as a program. What follows the name of the server must not be read as flags of the client. */
  add: (name: string, launch: Launch) => readonly string[]
  remove?: (name: string) => readonly string[]
  /** Prints the entries as a JSON array, for a file that is not read here. `add` then replaces an entry of the name. */
  list?: readonly string[]
  /** If one of these variables is set, the program of this name belongs to another computer. */
  remoteVariables?: readonly string[]
}

/** An MCP client and the place of its server list. */
export interface Client {
  /** As in `drawbridge install <client>`. */
  id: string
  title: string
  /** Undefined: JSON. */
  format?: 'toml'
  /** Candidates for the user's file, likeliest first: the first that exists is used, or else the first. */
  files(places: Places): readonly string[]
  /** The project file, relative to the project folder. Undefined: the client has none. */
  projectFile?: string
  /** Keys leading to the server list. */
  keys: readonly string[]
  /** Builds the entry in the client's format. */
  entry(launch: Launch): Record<string, unknown>
  program?: ClientProgram
  /** Next steps for the user to see the server, one sentence per line. */
  afterwards(name: string): readonly string[]
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalClient, localClient, type LocalEra } from '../conformance/client/local-client.ts'
import {
  type BridgeChild,
  type BridgeOptions,
  startBridgeChild,
} from '../support/bridge/process/bridge-child.ts'
import { filesIn } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

/** The home folder of one user of the bridge, with their logins. */
export interface BridgeHome {
  path: string
  /** Returns the text of every file in it, to search for secrets. */
  files(): string
  remove(): void
}

/** Creates an empty home. */
export function createBridgeHome(): BridgeHome {
  const path = mkdtempSync(join(tmpdir(), 'drawbridge-home-'))
  return {
    path,
    files: () => [...filesIn(path).values()].join('\n'),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** The built bridge with a local client at its stdio. */
export interface BridgeProcess extends LocalClient {
  stderr(): string
  /** Waits for the link for the user to open. */
  link(): Promise<string>
  /** Returns the different links shown, in order. */
  links(): readonly string[]
  /** Returns the names of the tools that it lists. */
  tools(): Promise<string[]>
  /** Calls a tool; returns its text, or the error's. */
  call(name: string, input?: object): Promise<string>
}

/** Starts the built bridge in front of `url`; it opens no browser. Keys are in a file unless `flags` say otherwise. */
export function startBridge(
  url: string,
  home: BridgeHome,
  { era, ...options }: BridgeOptions & { era?: LocalEra } = {},
): BridgeProcess {
  const child = startBridgeChild(url, { flags: ['--store', 'file'], ...options, home: home.path })
  return withLinks(child, era)
}

/** Puts a local client at the stdio of a bridge. */
export function withLinks(child: BridgeChild, era: LocalEra = 'legacy'): BridgeProcess {
  const { stderr } = child
  const links = (): string[] => [...new Set(stderr().match(/https?:\/\/\S*[?&]response_type=code\S*(?=\s)/g))]
  const client = localClient(child, era)
  return {
    ...client,
    stderr,
    links,
    async link() {
      await until(
        () => links().length > 0,
        () => `a link\n${stderr()}`,
      )
      return links()[0] ?? ''
    },
    async tools() {
      const answer = await client.request('tools/list')
      const tools = 'result' in answer ? (answer.result['tools'] as { name: string }[]) : []
      return tools.map(({ name }) => name)
    },
    async call(name, input = {}) {
      const answer = await client.request('tools/call', { name, arguments: input })
      if ('error' in answer) return answer.error.message
      return (answer.result['content'] as { text: string }[]).map(({ text }) => text).join('\n')
    },
  }
}

import { spawn, type ChildProcess } from 'node:child_process'
import { isUrl } from '@drawbridge/shared/url.ts'

export interface BrowserPorts {
  environment: Readonly<Record<string, string | undefined>>
  platform: NodeJS.Platform
  /** Variables with secret values, whatever their names. */
  secretVariables?: ReadonlySet<string>
  /** A starter that still runs after this time counts as a browser. */
  watchMs?: number
}

// Special to PowerShell, which opens browsers on Windows, even between quotes (CVE-2025-6514).
const shellCharacters = /["$'()<>\\^`|]/g

/**
 * Returns a URL in the form that is safe for a starter of browsers: http or https, normalized, with shell characters
 * encoded. Undefined for anything else: a server's address must not start a program.
 *
 * @internal
 */
export function browserUrl(text: string): string | undefined {
  if (!isUrl(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  if (url.username !== '' || url.password !== '') return undefined
  return url.href.replaceAll(
    shellCharacters,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

/**
 * Opens a URL without a shell. On Linux `BROWSER` decides, when set: a command, with `%s` for the URL.
 * A browser outlives the bridge and passes its environment on, so it gets none of our secrets. If the platform chooses the
 * browser, they are removed from the environment of this process for good. Returns why it failed, as the starter reports it.
 */
async function openBrowser(text: string, ports: BrowserPorts): Promise<string | undefined> {
  const url = browserUrl(text)
  if (url === undefined) return 'the address is not a web address'
  const chosen = ports.platform === 'linux' ? (ports.environment['BROWSER'] ?? '').trim() : ''
  const watchMs = ports.watchMs ?? 3000
  if (chosen === '') return watch(() => openDefault(url, ports), watchMs)
  const environment = withoutSecrets(ports.environment, ports.secretVariables)
  return watch(async () => startCommand(chosen, url, environment), watchMs)
}

/** Opens a link that is already shown, and reports only failures. */
export async function openShownLink(
  link: string,
  ports: BrowserPorts,
  print: (line: string) => void,
): Promise<void> {
  const reason = await openBrowser(link, ports)
  if (reason !== undefined) print(`No browser was opened: ${reason}. Open the link yourself.`)
}

function startCommand(command: string, url: string, env: Record<string, string>): ChildProcess {
  const [program = '', ...args] = command.trim().split(/\s+/)
  const withUrl = args.some((arg) => arg.includes('%s'))
    ? args.map((arg) => arg.replaceAll('%s', url))
    : [...args, url]
  const child = spawn(program, withUrl, { detached: true, env, stdio: 'ignore', windowsHide: true })
  child.unref()
  return child
}

async function openDefault(url: string, { secretVariables }: BrowserPorts): Promise<ChildProcess> {
  const { default: open } = await import('open')
  // It passes on the environment of this process, and accepts no other.
  for (const name of Object.keys(process.env)) {
    if (isSecretVariable(name, secretVariables)) delete process.env[name]
  }
  return open(url, { wait: false })
}

/** The package reports success before its starter has failed: the exit code is what counts. */
async function watch(start: () => Promise<ChildProcess>, watchMs: number): Promise<string | undefined> {
  let child: ChildProcess
  try {
    child = await start()
  } catch (error) {
    return reasonOf(error)
  }
  return new Promise((resolve) => {
    // A browser that stays in the foreground must not keep this process alive.
    const timer = setTimeout(resolve, watchMs, undefined)
    timer.unref()
    child.once('error', (error) => {
      clearTimeout(timer)
      resolve(reasonOf(error))
    })
    const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
      clearTimeout(timer)
      const how = code === null ? `by ${String(signal)}` : `with ${code}`
      resolve(code === 0 ? undefined : `its starter ended ${how}`)
    }
    if (child.exitCode !== null || child.signalCode !== null) ended(child.exitCode, child.signalCode)
    else child.once('exit', ended)
  })
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT'
    ? 'no program that opens one was found'
    : `its starter failed (${code ?? 'unknown'})`
}

const secretName = /^DRAWBRIDGE_|SECRET|TOKEN|PASSW|CREDENTIAL|API_?KEY|PRIVATE_?KEY/i

/** Variables that programs need, which contain no secrets. */
const publicName =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|TERM|TMPDIR|DISPLAY|BROWSER|XDG_.*|USERPROFILE|APPDATA)$/i

/** Returns whether an environment variable is kept from other programs: for its name, or as one of `secretVariables`. */
function isSecretVariable(name: string, secretVariables: ReadonlySet<string> = new Set()): boolean {
  return !publicName.test(name) && (secretName.test(name) || secretVariables.has(name))
}

/** Returns a copy of an environment without secret and unset variables. */
export function withoutSecrets(
  environment: Readonly<Record<string, string | undefined>>,
  secretVariables?: ReadonlySet<string>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !isSecretVariable(entry[0], secretVariables),
    ),
  )
}

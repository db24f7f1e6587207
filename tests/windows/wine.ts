import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { forwardingDll } from './forwarding-dll.ts'
import { windowsPeers } from '../peers/node/node-peers.ts'
import { findProgram } from '../support/find-program.ts'
import { until } from '../support/until.ts'

const own = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

type Peers = NonNullable<ReturnType<typeof windowsPeers>>
type WindowsPrograms = { wine: string; wineserver: string; peers: Peers }

/** Returns the programs that tests on Windows need; says in one line if they are not here. */
export function findWine(): WindowsPrograms | undefined {
  const wine = findProgram('wine')
  const wineserver = findProgram('wineserver')
  const peers = windowsPeers()
  if (wine && wineserver && findProgram('script') && peers) return { wine, wineserver, peers }
  const missing =
    wine === undefined ? 'wine (apt install wine)' : 'Node and native parts for Windows (npm run peers)'
  process.stderr.write(`skipped: the tests on Windows need ${missing}.\n`)
  return undefined
}

/** A process in Wine, as `talkTo` expects it. */
export type WindowsProcess = ChildProcess

export interface WindowsOptions {
  env?: Readonly<Record<string, string>>
  cwd?: string
  shell?: boolean
  /** Leaves stdin open when the process has ended, as a client in another language may. Node closes it. */
  keepsStdin?: boolean
}

/** Output of a process that has ended. */
export interface WindowsOutcome {
  code: number
  stdout: string
  stderr: string
}

/** One Windows with one user, whose name has a blank and letters that are not ASCII. Paths are those of Windows unless they say otherwise. */
export interface Windows {
  /** The user's folder. */
  home: string
  /** Variables of the user's processes. */
  environment: Readonly<Record<string, string>>
  node: string
  /** Paths here of Node, and of native parts. */
  peers: Peers
  /** Path here of drive C. */
  drive: string
  /** Returns the path here of a file of drive C. */
  here(path: string): string
  start(program: string, args: readonly string[], options?: WindowsOptions): WindowsProcess
  run(program: string, args: readonly string[], options?: WindowsOptions): Promise<WindowsOutcome>
  /** Presses Ctrl-C in the console of all processes. */
  pressControlC(): void
  /** Ends all of it, and removes drive C. */
  close(): Promise<void>
}

const user = 'Zoë 山田'
const runTimeoutMs = 120_000

/** Makes a Windows in a temporary folder. */
export async function startWindows(programs: WindowsPrograms): Promise<Windows> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-wine-')))
  const drive = join(folder, 'prefix/drive_c')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    // Names of files are UTF-8.
    LC_ALL: 'C.UTF-8',
    WINEPREFIX: join(folder, 'prefix'),
    WINEARCH: 'win64',
    WINEDEBUG: '-all',
    // No installers of .NET and of a browser, and no menus.
    WINEDLLOVERRIDES: 'mscoree,mshtml=;winemenubuilder.exe=d',
  }
  const run = promisify(execFile)
  const limits = { env, timeout: 120_000, killSignal: 'SIGKILL' } as const
  const close = async (): Promise<void> => {
    await run(programs.wineserver, ['-k'], limits).catch(() => undefined)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await run(
      programs.wine,
      ['reg', 'add', String.raw`HKCU\Software\Wine`, '/v', 'Version', '/d', 'win10', '/f'],
      limits,
    )
    const home = String.raw`C:\users` + `\\${user}`
    const here = (path: string): string => join(drive, path.replace(/^C:/i, '').replaceAll('\\', '/'))
    const node = String.raw`C:\Program Files\nodejs\node.exe`
    mkdirSync(here(String.raw`C:\Program Files\nodejs`), { recursive: true })
    symlinkSync(programs.peers.node, here(node))
    copyFileSync(own('wine-only.cjs'), here('C:/wine-only.cjs'))
    // Wine 8 lacks this library, which programs in Rust draw random bytes by.
    const random = forwardingDll('bcryptprimitives.dll', 'ProcessPrng', 'advapi32.SystemFunction036')
    writeFileSync(here(String.raw`C:\windows\system32\bcryptprimitives.dll`), random)
    for (const name of [String.raw`AppData\Roaming`, String.raw`AppData\Local\Temp`])
      mkdirSync(here(`${home}\\${name}`), { recursive: true })
    const environment = {
      SystemRoot: String.raw`C:\windows`,
      SystemDrive: 'C:',
      ComSpec: String.raw`C:\windows\system32\cmd.exe`,
      PATHEXT: '.COM;.EXE;.BAT;.CMD',
      PATH:
        String.raw`C:\windows\system32;C:\windows;C:\Program Files\nodejs;` +
        `${home}\\AppData\\Roaming\\npm`,
      USERPROFILE: home,
      USERNAME: user,
      APPDATA: `${home}\\AppData\\Roaming`,
      LOCALAPPDATA: `${home}\\AppData\\Local`,
      TEMP: `${home}\\AppData\\Local\\Temp`,
      TMP: `${home}\\AppData\\Local\\Temp`,
      NODE_OPTIONS: '--require=C:/wine-only.cjs',
    }
    const agent = await startAgent(programs, env)
    const start: Windows['start'] = (program, args, options) =>
      agent.start(program, args, { cwd: home, ...options, env: { ...environment, ...options?.env } })
    return {
      home,
      environment,
      node,
      peers: programs.peers,
      drive,
      here,
      start,
      run: (program, args, options) => outcomeOf(start(program, args, options)),
      pressControlC: agent.pressControlC,
      async close() {
        agent.close()
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function outcomeOf(child: WindowsProcess): Promise<WindowsOutcome> {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => (stdout += String(chunk)))
  child.stderr?.on('data', (chunk: Buffer) => (stderr += String(chunk)))
  child.stdin?.end()
  const timer = setTimeout(() => child.kill('SIGKILL'), runTimeoutMs)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  return { code: code ?? -1, stdout, stderr }
}

interface Message {
  id?: number
  event: 'ready' | 'started' | 'stdout' | 'stderr' | 'exit' | 'close'
  bytes?: string
  pid?: number
  code?: number | null
  signal?: NodeJS.Signals | null
}

/** Starts the program in Wine that starts the others. It has a terminal, which is the console of all of them. */
async function startAgent({ wine, peers }: WindowsPrograms, env: Record<string, string>) {
  const children = new Map<number, AgentChild>()
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const command = [wine, peers.node, `Z:${own('agent.cjs')}`, String(port)]
    .map((word) => `'${word}'`)
    .join(' ')
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  let socket: Socket | undefined
  let isReady = false
  let lastId = 0
  server.once('connection', (connected) => {
    server.close()
    socket = connected.on('error', () => undefined)
    createInterface({ input: connected }).on('line', (line) => {
      const message = JSON.parse(line) as Message
      if (message.event === 'ready') isReady = true
      else children.get(message.id ?? 0)?.take(message)
    })
  })
  await until(() => isReady, 'Node in Wine', 60_000)
  const order = (order: object): void => void socket?.write(`${JSON.stringify(order)}\n`)
  return {
    start(program: string, args: readonly string[], options: object): WindowsProcess {
      const id = ++lastId
      const child = new AgentChild((name, more) => order({ order: name, id, ...more }))
      children.set(id, child)
      order({ order: 'start', id, program, args, options })
      return child as unknown as WindowsProcess
    },
    pressControlC: () => void terminal.stdin.write('\u0003'),
    close() {
      socket?.destroy()
      server.close()
      terminal.kill('SIGKILL')
    },
  }
}

/** The part of a `ChildProcess` that tests use. */
class AgentChild extends EventEmitter {
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly stdin: Writable
  readonly #order: (name: string, more?: object) => void
  pid: number | undefined

  constructor(order: (name: string, more?: object) => void) {
    super()
    this.#order = order
    this.stdin = new Writable({
      write(chunk: Buffer, _encoding, done) {
        order('write', { bytes: chunk.toString('base64') })
        done()
      },
      final(done) {
        order('end')
        done()
      },
    })
  }

  kill(): void {
    this.#order('kill')
  }

  take({ event, bytes = '', pid, code, signal }: Message): void {
    if (event === 'started') this.pid = pid
    if (event === 'stdout' || event === 'stderr') this[event].write(Buffer.from(bytes, 'base64'))
    if (event === 'exit') this.emit('exit', code, signal)
    if (event !== 'close') return
    this.stdout.end()
    this.stderr.end()
    // Once what it wrote has been read.
    setImmediate(() => this.emit('close', code, signal))
  }
}

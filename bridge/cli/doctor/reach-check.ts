import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { NetworkConfig } from '../../http/network-config.ts'
import { networkError } from '../../http/network-fault.ts'
import { chooseProxy } from '../../http/proxy-choice.ts'
import { createTrustedAuthorities } from '../../http/trusted-authorities.ts'
import { exitCode } from '../failure/command-failure.ts'
import { type CheckName, type Finding, fail, failureFinding, ok, warn } from './finding.ts'

const timeoutMs = 10_000
const soonDays = 14

/** The way to the server, step by step: proxy, or name, connection and certificate. */
export async function checkReach(serverUrl: string, network: NetworkConfig): Promise<Finding[]> {
  const url = new URL(serverUrl)
  const proxy = chooseProxy(url, network.proxy)
  if (proxy !== undefined) return [await checkProxy(proxy)]
  const straight = network.proxy === undefined ? 'None.' : 'There is one, but not for this server.'
  const findings = [ok('proxy', straight)]
  const named = await checkName(url, network)
  findings.push(...named)
  if (named.some(({ state }) => state === 'fail')) return findings
  return [...findings, ...(await checkConnection(url, network))]
}

async function checkProxy(proxy: string): Promise<Finding> {
  const url = new URL(proxy)
  try {
    const socket = await opened(connectTcp({ host: bare(url.hostname), port: portOf(url) }), 'connect')
    socket.destroy()
    return ok('proxy', `Requests go through ${url.origin}.`)
  } catch (error) {
    const fix =
      'Correct it where it is set (--proxy, HTTPS_PROXY, HTTP_PROXY or ALL_PROXY), or go straight with --no-proxy.'
    const text = `The proxy ${url.origin} cannot be reached: ${reasonOf(error, url)}.`
    return fail('proxy', text, fix, exitCode.unreachable)
  }
}

async function checkName(url: URL, { ipv4 }: NetworkConfig): Promise<Finding[]> {
  const host = bare(url.hostname)
  if (isIP(host) !== 0) return []
  try {
    const addresses = await lookup(host, { all: true, ...(ipv4 && { family: 4 }) })
    return [ok('dns', `${host} is ${addresses.map(({ address }) => address).join(', ')}.`)]
  } catch (error) {
    return [failed('dns', error, url)]
  }
}

async function checkConnection(url: URL, network: NetworkConfig): Promise<Finding[]> {
  const options = { host: bare(url.hostname), port: portOf(url), ...(network.ipv4 && { family: 4 }) }
  let socket: Socket
  try {
    socket = await opened(connectTcp(options), 'connect')
  } catch (error) {
    return [failed('connection', error, url)]
  }
  const there = ok('connection', `${options.host} listens on port ${options.port}.`)
  if (url.protocol === 'https:') return [there, await checkCertificate(url, network, socket)]
  socket.destroy()
  return [there]
}

async function checkCertificate(url: URL, { ca }: NetworkConfig, socket: Socket): Promise<Finding> {
  const host = bare(url.hostname)
  const context = createTrustedAuthorities(ca).context()
  const options = {
    socket,
    ...(isIP(host) === 0 && { servername: host }),
    ...(context !== undefined && { secureContext: context }),
  }
  try {
    const secure = await opened<TLSSocket>(connectTls(options), 'secureConnect')
    const until = Date.parse(secure.getPeerCertificate().valid_to)
    const version = secure.getProtocol() ?? 'TLS'
    secure.destroy()
    return certificateFinding(version, Math.floor((until - Date.now()) / 86_400_000))
  } catch (error) {
    socket.destroy()
    return failed('tls', error, url)
  }
}

function certificateFinding(version: string, days: number): Finding {
  const text = `${version}, the certificate is good for ${days} more ${days === 1 ? 'day' : 'days'}.`
  if (days >= soonDays) return ok('tls', text)
  return warn('tls', text, 'Tell whoever runs the server to renew it.')
}

/** Resolves with the socket at `event`; rejects with its error, or when nothing happens. */
async function opened<Opened extends Socket>(
  socket: Opened,
  event: 'connect' | 'secureConnect',
): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const end = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    socket.setTimeout(timeoutMs, () => end(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })))
    socket.once('error', end)
    socket.once(event, () => {
      socket.setTimeout(0)
      socket.off('error', end)
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}

function failed(name: CheckName, error: unknown, url: URL): Finding {
  return failureFinding(name, networkError(error, { url, connected: false }), { serverUrl: url.href })
}

function reasonOf(error: unknown, url: URL): string {
  return networkError(error, { url, connected: false }).message
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
}

function bare(hostname: string): string {
  return hostname.replaceAll(/[[\]]/g, '')
}

import { nodePeer } from '../../../peers/node/node-peers.ts'

/** The lowest Node that the bridge promises to run on, if it is here. */
export function oldNode(): string | undefined {
  return nodePeer('20.19.0')
}

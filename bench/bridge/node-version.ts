/** A Node that bridges are run by. */
export interface NodeVersion {
  /** Its name in figures. */
  name: string
  path: string
}

/** The pinned Node, which runs the bench. */
export const pinnedNode: NodeVersion = { name: `Node ${process.versions.node}`, path: process.execPath }

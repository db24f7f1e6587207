/**
 * Returns a free loopback port, reserved for this process until it exits: a server on it can be stopped and
 * restarted. Does not stop programs that choose their ports in another way. Rejects when 200 random ports were all
 * taken.
 */
export declare function freePort(range?: {
    from: number;
    to: number;
}): Promise<number>;

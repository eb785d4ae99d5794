@about@

/** What a step has met; the highest that applies. */
export declare const STATUS: {
  readonly OK: 0;
  /** Dry friction holds the object: the speed is exactly zero. */
  readonly STICKING: 1;
  /** An end stop is pressed, a foot stands, or the mechanism is at the end of its reach. */
  readonly AT_LIMIT: 2;
  /** The wrench was beyond wrenchLimit; the object has moved under the limit instead. */
  readonly SATURATED: 3;
  /** The wrench is not finite or leads nowhere: braked; or the state is not possible: held. */
  readonly NOT_FINITE: 4;
  /** In C only: here impossible parameters throw. */
  readonly NOT_READY: 5;
};
export type Status = 0 | 1 | 2 | 3 | 4 | 5;
export declare const STATUS_NAMES: readonly string[];

export type ParameterName = @parameters@;
export type CoordinateName = @coordinates@;

/** Six numbers, fx fy fz (N) nx ny nz (N m): @wrench@. */
export type Wrench = ArrayLike<number>;

export interface Quantity { readonly name: string; readonly unit: string; }
export interface StateNumber extends Quantity { /** Where it begins. */ readonly value: number; }
export interface Parameter extends Quantity {
  readonly name: ParameterName;
  /** What it is, in words. */
  readonly words: string;
  /** As identified. */
  readonly value: number;
  readonly element: string;
  readonly acts_on: string;
  /** "inertia": one of ten that together must belong to a body of positive density. */
  readonly map: "inertia" | "positive" | "free";
  /** The least value; null: none. `open`: it must be above. */
  readonly least: number | null;
  readonly open: boolean;
}
export interface Solid {
  readonly kind: "box" | "cylinder" | "ball" | "inertia";
  readonly size: readonly number[];
  readonly at: readonly [number, number, number];
  readonly axis: readonly [number, number, number];
  readonly part: "body" | "grip" | "wheel" | "frame";
  readonly swivel: string;
  readonly trail: number;
}
export interface About {
  readonly name: string;
  /** s: the length of one step. */
  readonly dt: number;
  readonly model_of: string;
  readonly state: readonly StateNumber[];
  /** How many of the state are positions. */
  readonly positions: number;
  readonly accelerations: readonly Quantity[];
  readonly parameters: readonly Parameter[];
  readonly coordinates: readonly Quantity[];
  readonly main: string | null;
  readonly described: readonly [number, number] | null;
  readonly wrench: { readonly names: readonly string[]; readonly units: readonly string[]; readonly frame: string; readonly is: string };
  readonly rows: readonly Quantity[];
  readonly components: readonly number[];
  readonly way: readonly [string, string];
  /** From the body to the hand's side of a handle. */
  readonly outward: readonly [number, number, number];
  readonly gravity: number;
  readonly outline: {
    /** Rows of the rotation from the mechanism's frame to a world whose z points up. */
    readonly ground: readonly number[];
    readonly hand: readonly [number, number, number];
    readonly floor: number | null;
    readonly links_at: number;
    readonly solids: readonly Solid[];
    readonly links: readonly { readonly name: string; readonly points: number }[];
  };
}
export declare const about: About;

export interface Motion {
  status: Status;
  /** @state@, then what elements remember. */
  readonly state: Float64Array;
  /** Mean of the step: @accelerations@. */
  readonly acceleration: Float64Array;
}
export interface Instance {
  /** The last step's; written anew by every step. */
  readonly motion: Motion;
  /** One step of `about.dt`; returns `motion`. */
  step(wrench: Wrench): Motion;
  /** Back to rest, or to this state; throws a RangeError where the object cannot be. */
  reset(state?: ArrayLike<number>): void;
  /** Other parameters from now on; throws a RangeError, and nothing changes, where no object has them. */
  set(values: Partial<Record<ParameterName, number>>): void;
  /** As they are now: a copy. */
  readonly parameters: Record<ParameterName, number>;
  /** At this instant, for another integrator: dry friction slips at its level, and is zero at rest. */
  accelerationAt(wrench: Wrench): Float64Array;
  /** Where each is, now or in another state. */
  coordinates(state?: ArrayLike<number>): Record<CoordinateName, number>;
  /** Rotation (9, row by row) and origin (3, m) of the body in the frame of the outline. */
  pose(state?: ArrayLike<number>): Float64Array;
  /** Velocity of the body's origin (m/s) and turning (rad/s) in the body frame. */
  twist(state?: ArrayLike<number>): Float64Array;
  /** The points of each linkage's bars: x, y (m) in the frame of the outline. */
  links(state?: ArrayLike<number>): [number, number][][];
}
/** The object at rest, with the parameters that were identified or others. */
export declare function create(options?: {
  parameters?: Partial<Record<ParameterName, number>>;
  /** The sensor's range; null: none. What is beyond it counts as the limit. */
  wrenchLimit?: ArrayLike<number | null>;
}): Instance;
/** The first parameter that no object can have, and why; null: all are possible. */
export declare function impossible(values: ArrayLike<number>): { name: string; why: string } | null;
/** Whether the object can be in this state. */
export declare function possible(state: ArrayLike<number>): boolean;

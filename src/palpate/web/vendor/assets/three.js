export {
  AmbientLight, ArrowHelper, Box3, BoxGeometry, BufferGeometry, CanvasTexture, Color, CylinderGeometry, DirectionalLight, DoubleSide, EdgesGeometry,
  Float32BufferAttribute, GridHelper, Group, HemisphereLight, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshLambertMaterial,
  MeshStandardMaterial, PerspectiveCamera, Plane, Points, PointsMaterial, Quaternion, Raycaster, Scene, SphereGeometry,
  Sprite, SpriteMaterial, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

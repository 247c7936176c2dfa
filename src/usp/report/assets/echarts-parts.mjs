import { use, init } from "echarts/core";
import { BarChart, TreemapChart } from "echarts/charts";
import { AriaComponent, GridComponent, TooltipComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";
use([BarChart, TreemapChart, AriaComponent, GridComponent, TooltipComponent, SVGRenderer]);
window.charts = { init };
